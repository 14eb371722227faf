// What writer and reader of a chunk both remember, so that the usual values of fields need not be
// stored. It starts empty with each chunk: a chunk is readable without any other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/record.hpp"

namespace omnio::wire {

// Handles are known in a chunk by the slot their number falls in. A second handle in the same slot
// takes it over with a new definition.
inline constexpr std::size_t kHandleSlots = 256;
inline constexpr std::size_t kTextSlots = 128;

constexpr std::uint8_t handleSlot(std::uint32_t handle) {
  return static_cast<std::uint8_t>(handle % kHandleSlots);
}

struct HandlePrediction {
  std::uint32_t handle = 0;  // 0: the slot is empty
  std::uint64_t size = 0;    // bytes of the last request
  std::uint64_t next = 0;    // file offset behind the last access
};

struct Prediction {
  std::array<HandlePrediction, kHandleSlots> handles{};
  std::uint64_t last_end = 0;  // ticks
  std::uint8_t last_slot = 0;

  void reset(std::uint64_t base_ticks) {
    handles.fill({});
    last_end = base_ticks;
    last_slot = 0;
  }
};

// Values of one event as the fields carry them, before and after prediction: writer and reader
// agree by both going through expectedResult() and learn().
struct EventNumbers {
  std::uint64_t request = 0;  // bytes asked for; 0 where the call asks for none
  std::int64_t offset = 0;    // the offset argument; 0 where there is none
  std::int64_t items = 0;     // the item count argument
  std::int64_t character = 0;
};

// The result that is stored as 0. (Inlined by force, as learn() is: with the row known at compile
// time nothing but an addition is left of either.)
[[gnu::always_inline]] constexpr std::int64_t expectedResult(const calls::Row& row,
                                                             const Plan& plan,
                                                             const EventNumbers& n,
                                                             const HandlePrediction& handle) {
  switch (row.result) {
    case calls::Result::kBytes:
      return static_cast<std::int64_t>(n.request);
    case calls::Result::kItems:
      return n.items;
    case calls::Result::kPosition:
      return plan.offset >= 0 ? n.offset : static_cast<std::int64_t>(handle.next);
    case calls::Result::kChar:
      return plan.character >= 0 ? n.character : 0;
    case calls::Result::kText:
      return 1;
    default:
      return 0;
  }
}

[[gnu::always_inline]] constexpr void learn(const calls::Row& row, const Plan& plan,
                                            const EventNumbers& n, std::int64_t result,
                                            HandlePrediction& handle) {
  if (plan.size >= 0) handle.size = n.request;
  if (row.result == calls::Result::kBytes) {
    const auto moved = static_cast<std::uint64_t>(result > 0 ? result : 0);
    handle.next = (plan.offset >= 0 ? static_cast<std::uint64_t>(n.offset) : handle.next) + moved;
  } else if (row.result == calls::Result::kPosition) {
    handle.next = static_cast<std::uint64_t>(result);
  }
}

}  // namespace omnio::wire
