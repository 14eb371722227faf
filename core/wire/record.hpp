// The layout of one event record, derived from the table of calls; docs/formats/trace.md shows it
// with an example.
//
//   header  13 bits: call number (10), failed (1), layer depth (2); then a 3-bit length code for
//           each field below; rounded up to whole bytes
//   fields  gap, duration, the recorded arguments in the row's order, result
//   pieces  for calls with an iovec: that many varints, the sizes of its pieces
//
// Gap is zigzag(start - end of the record before), duration is end - start, both in ticks.
// What a field holds follows from the argument's role, and is mostly the difference from a
// prediction that writer and reader make alike (prediction.hpp).
#pragma once

#include <array>
#include <cstdint>

#include "core/calls/arguments.hpp"
#include "core/calls/table.hpp"
#include "core/wire/length_code.hpp"

namespace omnio::wire {

inline constexpr unsigned kNumberBits = 10;
inline constexpr unsigned kFailedShift = kNumberBits;
inline constexpr unsigned kDepthShift = kFailedShift + 1;
inline constexpr unsigned kDepthBits = 2;
inline constexpr unsigned kFirstCodeShift = kDepthShift + kDepthBits;
inline constexpr std::uint32_t kNumberMask = (1U << kNumberBits) - 1;

// Records that define what later ones of the same chunk refer to: a two-byte header with one of
// these numbers, then varints (definition.hpp).
inline constexpr std::uint32_t kFirstControlRecord = calls::kNumberLimit;
inline constexpr std::uint32_t kDefineText = 1000;
inline constexpr std::uint32_t kDefineHandle = 1001;

using calls::Field;
using calls::fieldOf;

// The recorded arguments of a row: which they are and how each is stored.
struct Plan {
  std::uint8_t count = 0;
  std::array<std::uint8_t, calls::kMaxArguments> argument{};  // index into the row's arguments
  std::array<Field, calls::kMaxArguments> field{};
  int handle = -1;  // index into the row's arguments, or -1: the handle the call works on
  int size = -1;    // bytes asked for
  int offset = -1;
  int item_count = -1;
  int item_size = -1;
  int pieces = -1;
  int character = -1;

  constexpr unsigned fields() const { return 2U + count + 1U; }
  constexpr unsigned headerBytes() const {
    return (kFirstCodeShift + kLengthCodeBits * fields() + 7U) / 8U;
  }
};

constexpr Plan planOf(const calls::Row& row) {
  Plan plan;
  for (std::uint8_t i = 0; i < row.argument_count; ++i) {
    const calls::Role role = row.arguments[i];
    const Field field = fieldOf(role);
    if (field == Field::kNone) continue;
    plan.argument[plan.count] = i;
    plan.field[plan.count++] = field;
    if (field == Field::kHandle && plan.handle < 0) plan.handle = i;
    if (field == Field::kSize) plan.size = i;
    if (field == Field::kOffset) plan.offset = i;
    if (field == Field::kPieces) plan.pieces = i;
    if (role == calls::Role::kItemCount) plan.item_count = i;
    if (role == calls::Role::kItemSize) plan.item_size = i;
    if (role == calls::Role::kChar) plan.character = i;
  }
  return plan;
}

inline constexpr std::array<Plan, calls::kNumberLimit> kPlans = [] {
  std::array<Plan, calls::kNumberLimit> plans{};
  for (std::size_t n = 0; n < calls::kNumberLimit; ++n) plans[n] = planOf(calls::kTable[n]);
  return plans;
}();

constexpr const Plan& planOf(calls::CallId id) { return kPlans[calls::toNumber(id)]; }

// Room that every record without pieces fits in, with the 8 bytes that the last store may touch.
inline constexpr std::size_t kMaxFixedRecord = 8 + 8 * (calls::kMaxArguments + 3) + 8;
static_assert(
    [] {
      for (const Plan& plan : kPlans) {
        if (plan.headerBytes() > 8) return false;
      }
      return true;
    }(),
    "a record's header is handled as one 64-bit number");

}  // namespace omnio::wire
