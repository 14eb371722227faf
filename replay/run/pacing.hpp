// When an operation is due. All times in ns since the beginning of the run, recorded or replayed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/model/schedule.hpp"

namespace omnio::replay {

// The predecessors of an operation: the last one of its thread, and those it waits for.
struct Predecessors {
  std::int64_t recorded_end_ns = 0;  // the latest; 0 where there are none: the run's beginning
  std::int64_t actual_end_ns = 0;
};

struct Due {
  std::int64_t at_ns = 0;
  bool gap_was_negative = false;  // it was recorded to start before what it follows had ended
};

// Where think time began after the thread's last operation: the recorder was busy first. No later
// than the operation itself: what is measured of the recorder is an estimate, and no negative gap.
constexpr std::int64_t behindRecorder(std::int64_t recorded_end_ns, std::int64_t start_ns,
                                      std::int64_t recorder_ns) {
  return std::max(recorded_end_ns, std::min(recorded_end_ns + recorder_ns, start_ns));
}

// asap: when the predecessors are done. dt: as long after them as was recorded, against their
// actual end, so that waiting for a slow one is neither lost nor counted twice. start: at its
// recorded start, whatever the predecessors did (they have to be done all the same).
constexpr Due dueOf(model::Timing timing, const Predecessors& before, std::int64_t start_ns) {
  switch (timing) {
    case model::Timing::kAsap:
      return {before.actual_end_ns, false};
    case model::Timing::kStart:
      return {start_ns, false};
    case model::Timing::kDelta:
      break;
  }
  const std::int64_t gap = start_ns - before.recorded_end_ns;
  return {before.actual_end_ns + std::max<std::int64_t>(gap, 0), gap < 0};
}

// When a delay is over: what it stands for takes its time in every mode.
constexpr std::int64_t delayEnd(model::Timing timing, const Predecessors& before,
                                std::int64_t end_ns) {
  if (timing == model::Timing::kStart) return std::max(end_ns, before.actual_end_ns);
  return before.actual_end_ns + std::max<std::int64_t>(end_ns - before.recorded_end_ns, 0);
}

}  // namespace omnio::replay
