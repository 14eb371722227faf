// The layout of one event record, derived from the table of calls; docs/formats/trace.md shows it
// with an example.
//
//   header  13 bits: call number (10), failed (1), layer depth (2); then a 3-bit length code for
//           each field below; rounded up to whole bytes
//   fields  gap, duration, the recorded arguments in the row's order, result
//   pieces  for calls with an iovec: that many varints, the sizes of its pieces
//
// Gap is zigzag(start - end of the record before), duration is end - start, both in ticks.
// The content of a field follows from the argument's role, and is mostly the difference from a
// prediction that writer and reader make alike.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/calls/arguments.hpp"
#include "core/calls/table.hpp"

namespace omnio::wire {

// How numbers are stored in a record: 0 to 8 little-endian bytes, the length given by a 3-bit code
// in the record's header. Code c means c bytes for 0 to 6, and 8 bytes for 7. A field whose value
// was predicted is 0 and takes no byte at all.
static_assert(std::endian::native == std::endian::little,
              "logs are little-endian and are stored and loaded by plain copies");

inline constexpr int kLengthCodeBits = 3;

// Branch-free, because the lengths of neighbouring fields are as good as random to a predictor.
constexpr unsigned lengthCode(std::uint64_t value) {
  // The highest bit of value|1 is that of value, or bit 0 for 0, which the last term makes no byte.
  const unsigned top = 63U ^ static_cast<unsigned>(std::countl_zero(value | 1));
  const unsigned bytes = (top >> 3) + static_cast<unsigned>(value != 0);
  return bytes - (bytes >> 3);  // 8 bytes are code 7, as 7 bytes are
}

constexpr unsigned codedLength(unsigned code) { return code + ((code + 1U) >> 3); }

constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// An application may ask for any number, and a damaged file hold any: both wrap around, and so undo
// each other.
constexpr std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

constexpr std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// Stores always write 8 bytes: the writer keeps that much room behind every field.
inline void store64(char* out, std::uint64_t value) { std::memcpy(out, &value, sizeof value); }

// Loads the `length` (0 to 8) bytes at `in`.
inline std::uint64_t loadBytes(const char* in, unsigned length) {
  std::uint64_t value = 0;
  std::memcpy(&value, in, length);
  return value;
}

// Variable-length numbers of definitions and piece lists: 7 bits a byte, low bits first.
inline constexpr unsigned kMaxVarint = 10;

inline char* putVarint(char* out, std::uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}

// Returns the place behind the number, or nullptr when the input ends inside it or it is too long.
inline const char* getVarint(const char* in, const char* end, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && in < end; shift += 7) {
    const auto byte = static_cast<unsigned char>(*in++);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return in;
  }
  return nullptr;
}

// The result of a call that reads a line and does not say how long it is (fgets): its bytes; or a
// number below 0 where there are so many at least, since NULs in the line hide its end.
constexpr std::int64_t atLeast(std::int64_t bytes) { return -1 - bytes; }
constexpr std::int64_t lineBytes(std::int64_t result) {
  return result < 0 ? atLeast(result) : result;
}

inline constexpr unsigned kNumberBits = 10;
inline constexpr unsigned kFailedShift = kNumberBits;
inline constexpr unsigned kDepthShift = kFailedShift + 1;
inline constexpr unsigned kDepthBits = 2;
inline constexpr unsigned kFirstCodeShift = kDepthShift + kDepthBits;
inline constexpr std::uint32_t kNumberMask = (1U << kNumberBits) - 1;

// Control records, most of which define what later ones of the same chunk refer to: a two-byte
// header with one of these numbers, then varints (definition.hpp).
inline constexpr std::uint32_t kFirstControlRecord = calls::kNumberLimit;
inline constexpr std::uint32_t kDefineText = 1000;
inline constexpr std::uint32_t kDefineHandle = 1001;
inline constexpr std::uint32_t kRecorderWork = 1002;  // these define nothing
inline constexpr std::uint32_t kThinkSample = 1003;
inline constexpr std::uint32_t kDefineStack = 1004;  // call_stack.hpp
inline constexpr std::uint32_t kUseStack = 1005;

using calls::Field;
using calls::fieldOf;

// The recorded arguments of a row: which they are and how each is stored.
struct RecordLayout {
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

constexpr RecordLayout recordLayoutOf(const calls::Row& row) {
  RecordLayout layout;
  for (std::uint8_t i = 0; i < row.argument_count; ++i) {
    const calls::Role role = row.arguments[i];
    const Field field = fieldOf(role);
    if (field == Field::kNone) continue;
    layout.argument[layout.count] = i;
    layout.field[layout.count++] = field;
    if (field == Field::kHandle && layout.handle < 0) layout.handle = i;
    if (field == Field::kSize) layout.size = i;
    if (field == Field::kOffset) layout.offset = i;
    if (field == Field::kPieces) layout.pieces = i;
    if (role == calls::Role::kItemCount) layout.item_count = i;
    if (role == calls::Role::kItemSize) layout.item_size = i;
    if (role == calls::Role::kChar) layout.character = i;
  }
  return layout;
}

inline constexpr std::array<RecordLayout, calls::kNumberLimit> kRecordLayouts = [] {
  std::array<RecordLayout, calls::kNumberLimit> layouts{};
  for (std::size_t n = 0; n < calls::kNumberLimit; ++n)
    layouts[n] = recordLayoutOf(calls::kTable[n]);
  return layouts;
}();

constexpr const RecordLayout& recordLayoutOf(calls::CallId id) {
  return kRecordLayouts[calls::toNumber(id)];
}

// Room that every record without pieces fits in, with the 8 bytes that the last store may touch.
inline constexpr std::size_t kMaxFixedRecord = 8 + 8 * (calls::kMaxArguments + 3) + 8;
static_assert(
    [] {
      for (const RecordLayout& layout : kRecordLayouts) {
        if (layout.headerBytes() > 8) return false;
      }
      return true;
    }(),
    "a record's header is handled as one 64-bit number");

// The writer and the reader of a chunk both remember this, so that the usual values of fields need
// not be stored. It starts empty with each chunk: a chunk is readable without any other.
//
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

// The call stack that the next event is expected to have: the one that came after the last event's
// stack before. A loop over calls from different places is so predicted from its second turn on. In
// a chunk without stacks the expected one is always 0, none.
struct StackPrediction {
  static constexpr std::size_t kSlots = 256;
  std::array<std::uint32_t, kSlots> after{};  // by the number of the stack before
  std::uint32_t last = 0;

  std::uint32_t expected() const { return after[last % kSlots]; }
  void learn(std::uint32_t stack) {
    after[last % kSlots] = stack;
    last = stack;
  }
};

struct Prediction {
  std::array<HandlePrediction, kHandleSlots> handles{};
  std::uint64_t last_end = 0;  // ticks
  std::uint8_t last_slot = 0;
  StackPrediction stack;

  void reset(std::uint64_t base_ticks) {
    handles.fill({});
    last_end = base_ticks;
    last_slot = 0;
    stack = {};
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
                                                             const RecordLayout& layout,
                                                             const EventNumbers& n,
                                                             const HandlePrediction& handle) {
  switch (row.result) {
    case calls::Result::kBytes:
      return static_cast<std::int64_t>(n.request);
    case calls::Result::kItems:
      return n.items;
    case calls::Result::kPosition:
      return layout.offset >= 0 ? n.offset : static_cast<std::int64_t>(handle.next);
    case calls::Result::kChar:
      return layout.character >= 0 ? n.character : 0;
    case calls::Result::kText:
      return 1;
    default:
      return 0;
  }
}

[[gnu::always_inline]] constexpr void learn(const calls::Row& row, const RecordLayout& layout,
                                            const EventNumbers& n, std::int64_t result,
                                            HandlePrediction& handle) {
  if (layout.size >= 0) handle.size = n.request;
  if (row.result == calls::Result::kBytes) {
    const auto moved = static_cast<std::uint64_t>(result > 0 ? result : 0);
    handle.next = (layout.offset >= 0 ? static_cast<std::uint64_t>(n.offset) : handle.next) + moved;
  } else if (row.result == calls::Result::kPosition) {
    handle.next = static_cast<std::uint64_t>(result);
  }
}

}  // namespace omnio::wire
