// What a replay in dt needs for a thread at least, by the rules of the engine, and when its calls
// were in the recording. Takes the events of a thread in their order.
#pragma once

#include <cstdint>
#include <optional>

#include "core/model/schedule.hpp"

namespace omnio::replay {

// An event, as far as its times go.
struct TimedStep {
  model::Step step = model::Step::kCall;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::optional<std::int64_t> own_ns{};  // its work
  bool waits = false;                    // for other events
};

// The beginning of the run is not an event.
bool waitsForEvents(const model::ScheduleEvent& event);

class ThreadClock {
 public:
  explicit ThreadClock(std::int64_t recorder_ns = 0) : recorder_ns_(recorder_ns) {}

  // The time that the event takes at least, if it is the next one.
  std::int64_t workOf(const TimedStep& step) const;
  void take(const TimedStep& step);

  // Of the thread up to its last call.
  std::int64_t workNs() const { return work_at_last_call_ns_; }
  std::int64_t recordedEndNs() const { return recorded_end_ns_; }
  const std::optional<std::int64_t>& firstStartNs() const { return first_start_ns_; }
  std::int64_t lastEndNs() const { return last_end_ns_; }
  // Calls that begin before an earlier event of the thread has ended.
  std::uint64_t overlaps() const { return overlaps_; }

 private:
  friend class LoopClock;  // loop_clock.hpp

  std::int64_t recorder_ns_ = 0;
  std::int64_t recorded_end_ns_ = 0;
  std::int64_t work_ns_ = 0;
  std::int64_t work_at_last_call_ns_ = 0;
  std::optional<std::int64_t> first_start_ns_;  // of a call
  std::int64_t last_end_ns_ = 0;
  std::uint64_t overlaps_ = 0;
};

}  // namespace omnio::replay
