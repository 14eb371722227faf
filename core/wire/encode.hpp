// Writes one event record. A template over the call, so that the row's layout is known at
// compile time and the record is a straight line of stores.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/wire/record.hpp"

namespace omnio::wire {

struct EventTimes {
  std::uint64_t start = 0;  // ticks
  std::uint64_t end = 0;    // ticks, not before start
};

// Arguments by their index in the row. A text is its slot plus 1, a handle its slot; an iovec
// stands as the number of its pieces, whose sizes the caller appends (putPieces).
template <calls::CallId kCall>
using Arguments = std::array<std::int64_t, calls::rowOf(kCall).argument_count + 1>;

// `out` has kMaxFixedRecord bytes. `result` is the value returned (the slot plus 1 for a new
// handle), or with `failed` the errno value; `as` is another call with the same roles, where one
// piece of code serves several. Returns the place behind the record.
template <calls::CallId kCall>
[[gnu::always_inline]] inline char* encodeEvent(char* out, Prediction& state, EventTimes times,
                                                unsigned depth, bool failed,
                                                const Arguments<kCall>& arguments,
                                                std::uint64_t request, std::int64_t result,
                                                calls::CallId as = kCall) {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  constexpr RecordLayout layout = recordLayoutOf(kCall);
  static_assert(row.id() == kCall);

  HandlePrediction none;
  const auto slot =
      layout.handle >= 0
          ? static_cast<std::uint8_t>(
                arguments[static_cast<std::size_t>(layout.handle >= 0 ? layout.handle : 0)])
          : std::uint8_t{0};
  HandlePrediction& handle = layout.handle >= 0 ? state.handles[slot] : none;

  EventNumbers numbers{.request = request};
  if constexpr (layout.offset >= 0) numbers.offset = arguments[layout.offset];
  if constexpr (layout.item_count >= 0) numbers.items = arguments[layout.item_count];
  if constexpr (layout.character >= 0) numbers.character = arguments[layout.character];

  char* const start = out;
  out += layout.headerBytes();
  std::uint64_t header = calls::toNumber(as) |
                         (static_cast<std::uint64_t>(failed) << kFailedShift) |
                         (static_cast<std::uint64_t>(depth) << kDepthShift);
  unsigned shift = kFirstCodeShift;
  const auto put = [&](std::uint64_t value) __attribute__((always_inline)) {
    const unsigned code = lengthCode(value);
    store64(out, value);
    out += codedLength(code);
    header |= static_cast<std::uint64_t>(code) << shift;
    shift += kLengthCodeBits;
  };

  put(zigzag(static_cast<std::int64_t>(times.start - state.last_end)));
  put(times.end - times.start);
  // Unrolled, so that each field's place and kind are constants.
#pragma GCC unroll 16
  for (std::uint8_t i = 0; i < layout.count; ++i) {
    const std::int64_t value = arguments[layout.argument[i]];
    switch (layout.field[i]) {
      case Field::kHandle:
        put(static_cast<std::uint64_t>(slot ^ state.last_slot));
        break;
      case Field::kSize:
        put(zigzag(difference(value, static_cast<std::int64_t>(handle.size))));
        break;
      case Field::kOffset:
        put(zigzag(difference(value, static_cast<std::int64_t>(handle.next))));
        break;
      case Field::kSigned:
        put(zigzag(value));
        break;
      case Field::kText:
      case Field::kUnsigned:
      case Field::kPieces:
        put(static_cast<std::uint64_t>(value));
        break;
      case Field::kNone:  // in no layout
        break;
    }
  }
  if (failed) {
    put(static_cast<std::uint64_t>(result));
  } else {
    put(zigzag(difference(result, expectedResult(row, layout, numbers, handle))));
    learn(row, layout, numbers, result, handle);
  }
  if constexpr (layout.handle >= 0) state.last_slot = slot;
  state.last_end = times.end;
  std::memcpy(start, &header, layout.headerBytes());
  return out;
}

}  // namespace omnio::wire
