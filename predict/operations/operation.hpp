// One operation of a thread on a file, as predictors see it: an open, a close, a read or a write.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/event/event.hpp"

namespace omnio::predict {

// The number of a file among those that are open at one time (predict/operations/file_slots.hpp).
using Slot = std::uint32_t;

enum class Kind : std::uint8_t { kOpen, kClose, kRead, kWrite };

constexpr bool transfers(Kind kind) { return kind == Kind::kRead || kind == Kind::kWrite; }

struct Operation {
  // Operations that come of one place in the program have the same
  // (predict/operations/context.hpp).
  std::uint64_t context = 0;
  Slot slot = 0;
  event::FileId file = event::kNoFile;
  std::uint64_t session = 0;  // of a transfer: the open file description, by a number in the rank
  Kind kind = Kind::kOpen;
  bool empties = false;     // the file was empty when it came, or after an open: O_TRUNC, ftruncate
  bool has_stack = false;   // the context tells where in the program it was made
  bool has_size = false;    // of a transfer: the trace tells how many bytes it moved
  bool has_offset = false;  // of a transfer: the trace tells where
  bool is_mapped = false;   // pages of a mapping that were touched, at some time before
  bool is_direct = false;   // past the page cache: the file was opened with O_DIRECT
  std::int64_t offset = 0;
  std::int64_t bytes = 0;  // moved
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// The bytes that an operation moves; none of an open or a close.
struct Segment {
  Slot slot = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool isEmpty() const { return end <= begin; }
};

inline Segment segmentOf(const Operation& operation) {
  return {
      .slot = operation.slot, .begin = operation.offset, .end = operation.offset + operation.bytes};
}

// What predictors say of an operation before it comes.
struct Predicted {
  std::uint64_t context = 0;
  Kind kind = Kind::kOpen;
  bool is_unknown = false;  // what the context is was forgotten, or a run begins
  std::int64_t bytes = 0;
  Segment segment{};
  double weight = 1;
  // From the end of the last operation that was taken to the begin of this one, ns. Nothing where a
  // transition on the way is new, and by those that predict no times.
  std::optional<double> until_ns = {};
};

// 100 * |S n S0| / (max(end) - min(begin)), and 100 where both are empty (Dorier et al., TPDS
// 2016). Segments of different files have nothing in common.
inline double hitRatio(const Segment& predicted, const Segment& observed) {
  if (predicted.isEmpty() && observed.isEmpty()) return 100;
  if (predicted.isEmpty() || observed.isEmpty() || predicted.slot != observed.slot) return 0;
  const std::int64_t common =
      std::min(predicted.end, observed.end) - std::max(predicted.begin, observed.begin);
  if (common <= 0) return 0;
  const std::int64_t whole =
      std::max(predicted.end, observed.end) - std::min(predicted.begin, observed.begin);
  return 100.0 * static_cast<double>(common) / static_cast<double>(whole);
}

}  // namespace omnio::predict
