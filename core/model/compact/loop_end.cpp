#include "core/model/compact/loop_end.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/integers.hpp"
#include "core/model/compact/times_file.hpp"
#include "core/model/schedule_keys.hpp"

namespace omnio::model {
namespace {

class LoopEnd {
 public:
  static std::optional<std::int64_t> of(const EventLoop& loop, const ThreadTimes& times) {
    LoopEnd end;
    bool is_last_relative = false;
    forEachLine(loop, [&](const LoopLine& line, const LoopPath&) {
      const auto gap = line.number([](const ScheduleEvent& event) { return event.start_ns; });
      const auto duration = line.number([](const ScheduleEvent& event) { return event.end_ns; });
      if (!gap || !duration) end.is_known_ = false;
      if (line.is_relative && gap && duration &&
          (!gap->steps.empty() || !duration->steps.empty()) && times.exact == nullptr) {
        end.is_known_ = false;
      }
      (line.is_relative ? end.relative_ : end.absolute_) += 1;
      if (line.is_relative && gap && gap->first < 0) end.backwards_ns_ -= gap->first;
      is_last_relative = line.is_relative;
      end.last_ns_ = line.corners.back().event.end_ns;
    });
    if (!end.is_known_ || (end.relative_ > 0 && end.absolute_ > 0)) return {};
    if (end.relative_ + end.absolute_ == 0) return times.previous_end_ns;
    if (!is_last_relative)
      return times.exact == nullptr ? std::optional(end.last_ns_) : std::nullopt;
    if (times.exact != nullptr) return exactEnd(loop, times);
    std::optional<std::int64_t> gap = times.gap_ns;
    const Wide length = lengthOf(loop, gap);
    forEachLoop(loop, [&end](const EventLoop& one) {
      end.backwards_ns_ -= std::min<std::int64_t>(one.gap_ns.value_or(0), 0);
    });
    // No event begins before the run does.
    if (length < 0 || times.previous_end_ns < end.backwards_ns_) return {};
    return static_cast<std::int64_t>(
        std::clamp<Wide>(times.previous_end_ns + length, 0, INT64_MAX));
  }

 private:
  __extension__ using Wide = __int128;

  template <typename Visit>
  static void forEachLoop(const EventLoop& loop, Visit visit) {
    visit(loop);
    for (const EventLoop::Part& part : loop.body) {
      if (part.loop) forEachLoop(*part.loop, visit);
    }
  }

  static std::optional<std::int64_t> exactEnd(const EventLoop& loop, const ThreadTimes& times) {
    std::int64_t end_ns = times.previous_end_ns;
    const bool are_possible = passExact(loop, *times.exact, end_ns);
    if (!are_possible) return {};
    return end_ns;
  }

  // False where no event can have such times: the events one by one refuse them.
  static bool passExact(const EventLoop& loop, TimesReader& times, std::int64_t& end_ns) {
    const auto isPossible = [](std::int64_t time) { return time >= 0 && time <= kTenYears; };
    for (std::int64_t turn = 0; turn < loop.turns && !times.failure(); ++turn) {
      for (const EventLoop::Part& part : loop.body) {
        if (part.loop) {
          if (!passExact(*part.loop, times, end_ns)) return false;
          continue;
        }
        std::array<std::int64_t, kTimesOfEvent> of_event{};
        for (std::int64_t& time : of_event) time = times.next();
        const auto [gap, duration, has_work, compute, communication] = of_event;
        if (gap < -kTenYears || gap > kTenYears || (has_work != 0 && has_work != 1) ||
            !isPossible(duration) || !isPossible(compute) || !isPossible(communication)) {
          return false;
        }
        end_ns = std::max<std::int64_t>(base::saturatingSum(end_ns, gap), 0);
        end_ns = base::saturatingSum(end_ns, duration);
        for (const auto& waits : part.line->timed_waits) {
          for (std::uint32_t i = 0; i < 2 * waits.count; ++i) {
            if (!isPossible(times.next())) return false;
          }
        }
      }
    }
    return true;
  }

  // `gap`: takes the place of the next event's.
  static Wide lengthOf(const EventLoop& loop, std::optional<std::int64_t>& gap) {
    if (!gap) gap = loop.gap_ns;
    const Wide first = turnOf(loop, gap);
    if (loop.turns == 1) return first;
    return first + turnOf(loop, gap) * (loop.turns - 1);
  }

  static Wide turnOf(const EventLoop& loop, std::optional<std::int64_t>& gap) {
    Wide length = 0;
    for (const EventLoop::Part& part : loop.body) {
      if (part.loop) {
        length += lengthOf(*part.loop, gap);
      } else {
        const ScheduleEvent& event = part.line->first();
        length += std::exchange(gap, std::nullopt).value_or(event.start_ns);
        length += event.end_ns;
      }
    }
    return length;
  }

  std::int64_t last_ns_ = 0;
  Wide backwards_ns_ = 0;  // the sum of negative gaps
  int relative_ = 0;
  int absolute_ = 0;
  bool is_known_ = true;
};

}  // namespace

std::optional<std::int64_t> endOf(const EventLoop& loop, const ThreadTimes& times) {
  return LoopEnd::of(loop, times);
}

}  // namespace omnio::model
