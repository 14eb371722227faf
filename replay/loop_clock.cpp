#include "replay/loop_clock.hpp"

#include <algorithm>
#include <utility>

#include "core/base/integers.hpp"

namespace omnio::replay {

using model::EventLoop;
using model::LoopPath;
using model::ScheduleEvent;

namespace {

using Wide = model::WideNumber;

constexpr std::int64_t kMostTaken = 1 << 22;

// Times are not negative.
std::int64_t sumOf(std::int64_t first, Wide more) {
  return static_cast<std::int64_t>(std::min<Wide>(first + more, INT64_MAX));
}

}  // namespace

std::optional<ThreadClock> LoopClock::after(const ThreadClock& before,
                                            const model::PassedLoop& passed,
                                            const WorkNs& work_ns) {
  LoopClock clock(before, passed, work_ns);
  std::size_t end = 0;
  if (!clock.is_known_ || !clock.pass(passed.loop, 0, end)) return {};
  clock.addShares();
  return clock.now_;
}

LoopClock::LoopClock(const ThreadClock& before, const model::PassedLoop& passed,
                     const WorkNs& work_ns)
    : now_(before), previous_end_ns_(passed.begin_ns) {
  model::forEachLine(passed.loop, [&](const model::LoopLine& from, const LoopPath& path) {
    const ScheduleEvent& first = from.first();
    const auto start = from.number([](const ScheduleEvent& event) { return event.start_ns; });
    const auto end = from.number([](const ScheduleEvent& event) { return event.end_ns; });
    if (!start || !end) {
      is_known_ = false;
      return;
    }
    Line line{.line = &from,
              .path = path,
              .step = {.step = first.step, .waits = waitsForEvents(first)},
              .start = *start,
              .end = *end};
    if (first.own) line.step.own_ns = work_ns(*first.own);
    lines_.push_back(std::move(line));
    values_ = from.firstValues();
  });
}

bool LoopClock::pass(const EventLoop& loop, std::size_t first, std::size_t& end) {
  if (!gap_ns_) gap_ns_ = loop.gap_ns;
  for (std::int64_t turn = 0; turn < loop.turns; ++turn) {
    const ThreadClock before = now_;
    const std::int64_t before_ns = previous_end_ns_;
    now_.last_end_ns_ = INT64_MIN;  // of this turn
    values_[loop.place] = turn;
    for (std::size_t i = 0; i < loop.lists.size(); ++i) {
      values_[loop.place + 1 + i] = (*loop.lists[i])[static_cast<std::size_t>(turn)];
    }
    end = first;
    for (const EventLoop::Part& part : loop.body) {
      if (part.line ? !take(lines_[end++]) : !pass(*part.loop, end, end)) return false;
    }
    const std::int64_t turn_end_ns =
        std::exchange(now_.last_end_ns_, std::max(before.last_end_ns_, now_.last_end_ns_));
    const std::int64_t rest = loop.turns - 1 - turn;
    // Only the first turn has a gap of the loop.
    if (turn == 0 || rest == 0) continue;
    const bool is_relative = lines_[first].line->is_relative;
    const auto step_ns =
        is_relative ? std::optional(previous_end_ns_ - before_ns) : stepOf(loop, first, end);
    if (step_ns && *step_ns < 0) return false;
    if (!step_ns || now_.recorded_end_ns_ - before.recorded_end_ns_ != *step_ns) continue;
    const bool has_call = turn_end_ns != INT64_MIN;
    repeatTurn(before, rest, *step_ns, has_call);
    if (has_call) {
      now_.last_end_ns_ =
          std::max(now_.last_end_ns_, sumOf(turn_end_ns, static_cast<Wide>(*step_ns) * rest));
    }
    break;
  }
  return true;
}

bool LoopClock::take(Line& line) {
  if (++taken_ > kMostTaken) return false;
  TimedStep step = line.step;
  step.start_ns = line.start.at(values_, line.line->firstValues());
  step.end_ns = line.end.at(values_, line.line->firstValues());
  const auto gap_ns = std::exchange(gap_ns_, std::nullopt);
  if (line.line->is_relative) {
    step.start_ns = base::saturatingSum(previous_end_ns_, gap_ns.value_or(step.start_ns));
    // It would begin with the run, and not by its gap.
    if (step.start_ns < 0) return false;
    step.end_ns = base::saturatingSum(step.start_ns, step.end_ns);
  }
  previous_end_ns_ = step.end_ns;
  if (line.line->share) {
    if (!noteShare(line, step)) return false;
    // All that it takes is added later.
    step.own_ns = step.step == model::Step::kDelay ? step.start_ns - step.end_ns : 0;
  }
  now_.take(step);
  return true;
}

bool LoopClock::noteShare(Line& line, const TimedStep& step) {
  TimedStep without = step;
  without.own_ns.reset();
  const std::int64_t with_work_ns = now_.workOf(step);
  const std::int64_t without_ns = now_.workOf(without);
  if (line.visits++ == 0) {
    line.first_ns = without_ns;
    line.with_work_ns = with_work_ns;
  } else if (line.visits == 2) {
    line.other_ns = without_ns;
  }
  return with_work_ns == line.with_work_ns &&
         without_ns == (line.visits == 1 ? line.first_ns : line.other_ns);
}

// By how much later a turn is than the one before it, where that is the same for all of its lines.
std::optional<std::int64_t> LoopClock::stepOf(const EventLoop& loop, std::size_t first,
                                              std::size_t end) const {
  const std::int64_t step_ns = lines_[first].start.stepAt(loop.place);
  for (std::size_t i = first; i < end; ++i) {
    for (const model::TurnNumber* number : {&lines_[i].start, &lines_[i].end}) {
      const bool has_list = std::ranges::any_of(number->steps, [&loop](const auto& step) {
        return loop.owns(step.first) && step.first != loop.place;
      });
      if (has_list || number->stepAt(loop.place) != step_ns) return {};
    }
  }
  return step_ns;
}

// Does the turn that began `before` so many times more.
void LoopClock::repeatTurn(const ThreadClock& before, std::int64_t turns, std::int64_t step_ns,
                           bool has_call) {
  const Wide work_ns = static_cast<Wide>(now_.work_ns_ - before.work_ns_) * turns;
  const Wide later_ns = static_cast<Wide>(step_ns) * turns;
  if (has_call) now_.work_at_last_call_ns_ = sumOf(now_.work_at_last_call_ns_, work_ns);
  now_.work_ns_ = sumOf(now_.work_ns_, work_ns);
  now_.overlaps_ += (now_.overlaps_ - before.overlaps_) * static_cast<std::uint64_t>(turns);
  now_.recorded_end_ns_ = sumOf(now_.recorded_end_ns_, later_ns);
  previous_end_ns_ = sumOf(previous_end_ns_, later_ns);
}

// The time of lines some of whose events have work.
void LoopClock::addShares() {
  const auto last_call = std::find_if(lines_.rbegin(), lines_.rend(), [](const Line& line) {
    return line.step.step == model::Step::kCall;
  });
  for (const Line& line : lines_) {
    if (!line.line->share) continue;
    const auto passes = static_cast<std::uint64_t>(model::passesOf(line.path).value_or(0));
    now_.work_ns_ = sumOf(now_.work_ns_, shareNs(line, passes));
    if (last_call == lines_.rend()) continue;
    const std::uint64_t behind = passesBehind(*last_call, line);
    now_.work_at_last_call_ns_ = sumOf(now_.work_at_last_call_ns_, shareNs(line, passes - behind));
  }
}

// What the first events of the line take.
model::WideNumber LoopClock::shareNs(const Line& line, std::uint64_t events) {
  if (events == 0) return 0;
  const model::WorkShare& share = *line.line->share;
  const std::uint64_t with_work = share.countOf(line.line->share_first, events);
  Wide ns = static_cast<Wide>(with_work) * line.with_work_ns +
            static_cast<Wide>(events - with_work) * line.other_ns;
  if (!share.has(line.line->share_first)) ns += line.first_ns - line.other_ns;
  return ns;
}

// How many events a line has behind the last one of another.
std::uint64_t LoopClock::passesBehind(const Line& last, const Line& line) {
  if (&line <= &last) return 0;
  const auto apart = std::ranges::mismatch(last.path, line.path);
  std::uint64_t passes = 1;
  for (auto loop = apart.in2; loop != line.path.end(); ++loop) {
    passes *= static_cast<std::uint64_t>((*loop)->turns);
  }
  return passes;
}

}  // namespace omnio::replay
