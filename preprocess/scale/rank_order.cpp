#include "preprocess/scale/rank_order.hpp"

#include <algorithm>
#include <tuple>

namespace omnio::preprocess::scale {
RankOrder::RankOrder(RecordedSchedule& schedule, bool keeps_files)
    : schedule_(schedule), keeps_files_(keeps_files) {
  const std::vector<RecordedThread>& threads = schedule.threads();
  struct Cursor {
    std::uint64_t place = 0;
    std::uint64_t next = 0;  // event
    std::size_t done = 0;    // of the event and the delays behind it
    bool is_loaded = false;
    EventRecord event;
    Clock clock;
    Clock alone;                      // without the delays behind the event before
    std::vector<EventRecord> delays;  // these
  };
  std::vector<Cursor> cursors(threads.size());
  for (std::size_t t = 0; t < threads.size(); ++t) {
    cursors[t].place = threads[t].spooled;
    cursors[t].clock.assign(threads.size(), 0);
    cursors[t].alone = cursors[t].clock;
  }
  // False where one of the events that are waited for is not known yet.
  const auto join_waits = [this](Clock& clock, const EventRecord& event) {
    for (const model::Wait& wait : event.waits) {
      if (!counts(wait)) continue;
      const auto found = clocks_.find(schedule_.eventOf(wait.id));
      if (found == clocks_.end()) return false;
      for (std::size_t i = 0; i < clock.size(); ++i) {
        clock[i] = std::max(clock[i], found->second[i]);
      }
    }
    return true;
  };
  // Does the next event of the thread, or delay behind one. False where it has to wait.
  const auto step = [&](std::uint32_t t) {
    Cursor& cursor = cursors[t];
    if (!cursor.is_loaded) schedule.spool().read(cursor.place, cursor.event);
    cursor.is_loaded = true;
    const EventRecord& event = cursor.event;
    const EventRecord& now = cursor.done == 0 ? event : event.delays[cursor.done - 1];
    Clock clock = cursor.clock;
    if (!join_waits(clock, now)) return false;
    if (cursor.done == 0) {
      take(t, cursor.next, cursor.alone, clock, event, cursor.delays);
      clock[t] = cursor.next + 1;
      cursor.alone = clock;
    }
    const bool is_named = cursor.done == 0 ? event.id != 0 || !event.delays.empty() : now.id != 0;
    if (is_named) {
      clocks_[{.thread = t, .event = cursor.next, .delay = cursor.done}] = clock;
    }
    if (cursor.done > 0 && now.id != 0) {
      model::Work work = meanWorkOf(now);
      work.compute_ns += EventTimes::of(now).duration_ns;
      delay_works_[{.thread = t, .event = cursor.next, .delay = cursor.done}] = work;
    }
    cursor.clock = std::move(clock);
    if (++cursor.done > event.delays.size()) {
      cursor.delays = event.delays;
      cursor.done = 0;
      cursor.is_loaded = false;
      ++cursor.next;
    }
    return true;
  };
  for (bool moves = true; moves;) {
    moves = false;
    for (std::uint32_t t = 0; t < threads.size(); ++t) {
      while (cursors[t].next < threads[t].events && step(t)) moves = true;
    }
  }
  for (std::size_t t = 0; t < threads.size(); ++t) {
    is_circular_ = is_circular_ || cursors[t].next < threads[t].events;
  }
}

model::Work RankOrder::workOf(const model::Wait& wait) const {
  const auto delay = delay_works_.find(schedule_.eventOf(wait.id));
  return delay == delay_works_.end() ? wait.work : wait.work + delay->second;
}

model::Work RankOrder::meanWorkOf(const EventRecord& event) const {
  model::Work sum;
  std::int64_t count = 0;
  for (const model::Wait& wait : event.waits) {
    if (!counts(wait)) continue;
    ++count;
    sum = sum + workOf(wait);
  }
  if (count == 0) return {};
  return {.compute_ns = sum.compute_ns / count, .communication_ns = sum.communication_ns / count};
}

void RankOrder::take(std::uint32_t thread, std::uint64_t number, const Clock& before,
                     const Clock& now, const EventRecord& event,
                     const std::vector<EventRecord>& delays) {
  std::vector<EventPlace> events;
  for (std::uint32_t t = 0; t < now.size(); ++t) {
    if (t != thread && now[t] > before[t]) events.push_back({.thread = t, .event = now[t] - 1});
  }
  // Without those that others of them imply.
  std::vector<EventPlace> needed;
  for (const EventPlace& each : events) {
    const bool is_implied = std::ranges::any_of(events, [&](const EventPlace& other) {
      const auto clock = clocks_.find(other);
      return other != each && clock != clocks_.end() && clock->second[each.thread] > each.event;
    });
    if (!is_implied) needed.push_back(each);
  }
  Waits waits;
  waits.runs = runsOf(thread, std::move(needed));
  for (const model::Wait& wait : event.waits) {
    if (wait.id == 0) {
      waits.from_start = wait.work;
      waits.start_reason = wait.reason;
    } else if (counts(wait) && wait.reason != model::Reason::kMpi) {
      waits.reason = wait.reason;
    }
  }
  if (waits.runs.empty() && !waits.from_start) return;
  waits.work = meanWorkOf(event);
  // The event itself waits for all that the delays before it wait for.
  for (const EventRecord& delay : delays) {
    if (std::ranges::none_of(delay.waits, [this](const auto& wait) { return counts(wait); })) {
      continue;
    }
    model::Work through = meanWorkOf(delay) + EventTimes::of(event).workBefore();
    through.compute_ns += EventTimes::of(delay).duration_ns;
    waits.work = {
        .compute_ns = std::max(waits.work.compute_ns, through.compute_ns),
        .communication_ns = std::max(waits.work.communication_ns, through.communication_ns)};
    for (const model::Wait& wait : delay.waits) {
      if (counts(wait) && wait.reason != model::Reason::kMpi) waits.reason = wait.reason;
    }
  }
  waits_.emplace(std::pair(thread, number), std::move(waits));
}

std::vector<RankRun> RankOrder::runsOf(std::uint32_t own, std::vector<EventPlace> events) const {
  const model::ScheduleThread& head = schedule_.threads()[own].head;
  std::vector<RankRun> all;
  for (const EventPlace& event : events) {
    const model::ScheduleThread& other = schedule_.threads()[event.thread].head;
    all.push_back({.first = other.rank,
                   .last = other.rank,
                   .thread = other.thread,
                   .event = static_cast<std::int64_t>(event.event)});
  }
  std::ranges::sort(
      all, {}, [](const RankRun& run) { return std::tuple(run.thread, run.event, run.first); });
  std::vector<RankRun> runs;
  for (const RankRun& next : all) {
    const bool is_alike =
        !runs.empty() && runs.back().thread == next.thread && runs.back().event == next.event;
    // The own rank lies in between where the others do the same as it.
    const bool follows = is_alike && (runs.back().last + 1 == next.first ||
                                      (runs.back().last + 1 == head.rank &&
                                       next.first == head.rank + 1 && next.thread == head.thread));
    if (follows) {
      runs.back().last = next.last;
    } else {
      runs.push_back(next);
    }
  }
  for (RankRun& run : runs) {
    if (run.first == run.last || run.thread != head.thread) continue;
    if (run.first == head.rank + 1) run.first = head.rank;
    if (run.last + 1 == head.rank) run.last = head.rank;
  }
  std::ranges::sort(runs, {}, [](const RankRun& run) { return std::tuple(run.thread, run.first); });
  return runs;
}

const RankOrder::Waits* RankOrder::of(std::uint32_t thread, std::uint64_t event) const {
  const auto found = waits_.find({thread, event});
  return found == waits_.end() ? nullptr : &found->second;
}

}  // namespace omnio::preprocess::scale
