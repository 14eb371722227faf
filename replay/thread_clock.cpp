#include "replay/thread_clock.hpp"

#include <algorithm>

#include "core/base/integers.hpp"
#include "replay/run/pacing.hpp"

namespace omnio::replay {

bool waitsForEvents(const model::ScheduleEvent& event) {
  return std::ranges::any_of(event.after, [](const model::Wait& wait) { return wait.id != 0; });
}

std::int64_t ThreadClock::workOf(const TimedStep& step) const {
  if (step.step == model::Step::kInherited) return 0;
  const bool is_delay = step.step == model::Step::kDelay;
  if (step.own_ns) return *step.own_ns + (is_delay ? step.end_ns - step.start_ns : 0);
  if (step.waits) return 0;
  const std::int64_t begun = behindRecorder(recorded_end_ns_, step.start_ns, recorder_ns_);
  return std::max<std::int64_t>((is_delay ? step.end_ns : step.start_ns) - begun, 0);
}

void ThreadClock::take(const TimedStep& step) {
  work_ns_ = base::saturatingSum(work_ns_, workOf(step));
  if (step.step == model::Step::kCall) {
    work_at_last_call_ns_ = work_ns_;
    first_start_ns_ = std::min(first_start_ns_.value_or(step.start_ns), step.start_ns);
    last_end_ns_ = std::max(last_end_ns_, step.end_ns);
    if (step.start_ns < recorded_end_ns_) ++overlaps_;
  }
  recorded_end_ns_ = std::max(recorded_end_ns_, step.end_ns);
}

}  // namespace omnio::replay
