// When an operation is due, and what becomes of the time by which it begins late. Nothing here
// fails, allocates or reads a clock.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/model/schedule.hpp"

namespace omnio::replay {

// All times in ns since the beginning of the run, recorded or replayed.

// The schedule does not tell a thread's work from its waiting.
inline constexpr std::int64_t kWorkUnknown = INT64_MIN;

// The predecessors of an operation: the last one of its thread, and those it waits for.
struct Predecessors {
  std::int64_t recorded_end_ns = 0;  // the latest; 0 where there are none: the run's beginning
  std::int64_t actual_end_ns = 0;
  // The latest, over these, of the actual end and the work behind it.
  std::int64_t work_done_ns = kWorkUnknown;
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

// asap: when the predecessors are done. dt: when the work behind each of them is done; where the
// schedule does not tell work from waiting, as long after the last of them as was recorded. start:
// at its recorded start, whatever the predecessors did (they have to be done all the same).
constexpr Due dueOf(model::Timing timing, const Predecessors& before, std::int64_t start_ns) {
  switch (timing) {
    case model::Timing::kAsap:
      return {before.actual_end_ns, false};
    case model::Timing::kStart:
      return {start_ns, false};
    case model::Timing::kDelta:
      break;
  }
  if (before.work_done_ns != kWorkUnknown) return {before.work_done_ns, false};
  const std::int64_t gap = start_ns - before.recorded_end_ns;
  return {before.actual_end_ns + std::max<std::int64_t>(gap, 0), gap < 0};
}

// When a delay is over: what it stands for takes its time in every mode. The work before it does
// not in asap.
constexpr std::int64_t delayEnd(model::Timing timing, const Predecessors& before,
                                std::int64_t start_ns, std::int64_t end_ns) {
  if (timing == model::Timing::kStart) return std::max(end_ns, before.actual_end_ns);
  if (timing == model::Timing::kAsap) return before.actual_end_ns + end_ns - start_ns;
  if (before.work_done_ns != kWorkUnknown) return before.work_done_ns + end_ns - start_ns;
  return before.actual_end_ns + std::max<std::int64_t>(end_ns - before.recorded_end_ns, 0);
}

// In dt, a thread whose call begins late owes that time, since the application would not have been
// late. The next think time pays: it gets shorter by as much, so that the calls after it begin when
// they should. A call adds at most this much to what is owed. That is enough for the engine's own
// work, for waking up and for a turn of another thread on the same processor. A process that was
// stopped for longer does not hurry afterwards.
inline constexpr std::int64_t kMostOwedForACall = 1'000'000;

// `had_time`: the call was not yet due when its thread came to it, so that all is paid.
constexpr std::int64_t owedBehind(std::int64_t owed_ns, std::int64_t late_ns, bool had_time) {
  return std::clamp<std::int64_t>(late_ns, 0, (had_time ? 0 : owed_ns) + kMostOwedForACall);
}

// Lateness that stretches the run. Each operation has two ends: the one that it had, and the one on
// time, which it would have had with the same calls had the replayer never been late. Both follow
// the same rule (dueOf) from the ends of the same predecessors, and a call takes as long on time as
// it did. So a call that was slow moves both, and what waits for it is not late; a thread that was
// not run between two calls moves the first alone, until think time or a wait makes up for it. The
// run was stretched by its end less the last end on time.
//
// By how much the start of a call is behind the start on time: what its predecessors have left of
// their lateness, and its own.
constexpr std::int64_t behindOnTime(model::Timing timing, const Predecessors& before,
                                    const Predecessors& on_time, std::int64_t recorded_start_ns,
                                    std::int64_t start_ns) {
  const std::int64_t due_ns =
      std::max(dueOf(timing, before, recorded_start_ns).at_ns, before.actual_end_ns);
  const std::int64_t on_time_ns =
      std::max(dueOf(timing, on_time, recorded_start_ns).at_ns, on_time.actual_end_ns);
  return std::max<std::int64_t>(due_ns - on_time_ns, 0) +
         std::max<std::int64_t>(start_ns - due_ns, 0);
}

}  // namespace omnio::replay
