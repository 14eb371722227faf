#include "preprocess/scale/ranks/rank_order.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>

namespace omnio::preprocess::scale {
RankOrder::RankOrder(RecordedSchedule& schedule, bool keeps_files)
    : schedule_(schedule), keeps_files_(keeps_files), left_(schedule.waitsById()) {
  const std::vector<RecordedThread>& threads = schedule.threads();
  waits_.resize(threads.size());
  const auto none = std::make_shared<const EventClock::Counts>(threads.size(), 0);
  std::vector<Cursor> cursors;
  for (std::uint32_t t = 0; t < threads.size(); ++t) {
    cursors.emplace_back(EventClock(t, none)).place = threads[t].spooled;
    ready_.push_back(t);
  }
  // A thread that waits for none does not run far ahead of the others: what they wait for is kept
  // until they come to it.
  constexpr int kSlice = 64;
  while (!ready_.empty()) {
    const std::uint32_t t = ready_.front();
    ready_.pop_front();
    std::optional<std::uint64_t> blocker;
    for (int i = 0; i < kSlice && cursors[t].next < threads[t].events && !blocker; ++i) {
      blocker = step(t, cursors[t]);
    }
    if (blocker) {
      blocked_[*blocker].push_back(t);
    } else if (cursors[t].next < threads[t].events) {
      ready_.push_back(t);
    }
  }
  is_circular_ = !blocked_.empty();
  known_.clear();
  left_.clear();
}

std::optional<std::uint64_t> RankOrder::step(std::uint32_t thread, Cursor& cursor) {
  if (!cursor.is_loaded) schedule_.spool().read(cursor.place, cursor.event);
  cursor.is_loaded = true;
  const EventRecord& event = cursor.event;
  const bool is_delay = cursor.done > 0;
  const EventRecord& now = is_delay ? event.delays[cursor.done - 1] : event;
  std::vector<Source> sources;
  std::vector<const EventClock*> clocks;
  for (const model::Wait& wait : now.waits) {
    if (!counts(wait)) continue;
    const auto found = known_.find(wait.id);
    if (found == known_.end()) return wait.id;
    const Known& known = found->second;
    sources.push_back({.clock = &known.clock, .event = known.event, .frontier = known.frontier});
    clocks.push_back(&known.clock);
  }
  EventClock clock = cursor.clock;
  clock.join(clocks);
  const Reached own{.thread = thread, .event = cursor.next};
  model::Work work;
  if (!is_delay) {
    take(thread, cursor, event, std::move(sources));
    clock.setOwn(cursor.next + 1);
    cursor.alone = clock;
    cursor.frontier.reset();
    cursor.delays.clear();
  } else {
    work = meanWorkOf(now);
    work.compute_ns += EventTimes::of(now).duration_ns;
    sources.push_back({.clock = &cursor.clock, .event = own, .frontier = cursor.frontier});
    cursor.frontier = frontierOf(sources);
    if (!clocks.empty()) {
      DelayWaits& delay = cursor.delays.emplace_back();
      delay.work = work;
      for (const model::Wait& wait : now.waits) {
        if (counts(wait) && wait.reason != model::Reason::kMpi) delay.reason = wait.reason;
      }
    }
  }
  forget(now.waits);
  if (now.id != 0) {
    learn(now.id, {.clock = clock, .event = own, .frontier = cursor.frontier, .work = work});
  }
  cursor.clock = std::move(clock);
  if (++cursor.done > event.delays.size()) {
    cursor.done = 0;
    cursor.is_loaded = false;
    ++cursor.next;
  }
  return {};
}

void RankOrder::learn(std::uint64_t id, Known known) {
  if (left_.contains(id)) known_.emplace(id, std::move(known));
  if (const auto blocked = blocked_.find(id); blocked != blocked_.end()) {
    ready_.insert(ready_.end(), blocked->second.begin(), blocked->second.end());
    blocked_.erase(blocked);
  }
}

void RankOrder::forget(const std::vector<model::Wait>& waits) {
  for (const model::Wait& wait : waits) {
    const auto left = left_.find(wait.id);
    if (left == left_.end() || --left->second > 0) continue;
    left_.erase(left);
    known_.erase(wait.id);
  }
}

model::Work RankOrder::meanWorkOf(const EventRecord& event) const {
  model::Work sum;
  std::int64_t count = 0;
  for (const model::Wait& wait : event.waits) {
    if (!counts(wait)) continue;
    ++count;
    sum = sum + (wait.work + known_.at(wait.id).work);
  }
  if (count == 0) return {};
  return {.compute_ns = sum.compute_ns / count, .communication_ns = sum.communication_ns / count};
}

std::shared_ptr<const RankOrder::Frontier> RankOrder::frontierOf(
    const std::vector<Source>& sources) const {
  if (sources.size() == 1 && sources[0].frontier != nullptr) return sources[0].frontier;
  auto all = std::make_shared<Frontier>();
  std::unordered_set<const EventClock::Counts*> lists;  // what comes before the single events
  std::map<const Frontier*, const EventClock*> meetings;
  for (const Source& source : sources) {
    if (source.frontier == nullptr) {
      all->push_back(source.event);
      lists.insert(source.clock->others().get());
    } else if (meetings.emplace(source.frontier.get(), source.clock).second) {
      all->insert(all->end(), source.frontier->begin(), source.frontier->end());
    }
  }
  if (sources.size() == 1) return all;
  const auto before = [this](const Reached& a, const Reached& b) {
    const model::ScheduleThread& one = schedule_.threads()[a.thread].head;
    const model::ScheduleThread& other = schedule_.threads()[b.thread].head;
    return std::tuple(one.thread, a.event, one.rank) <
           std::tuple(other.thread, b.event, other.rank);
  };
  std::ranges::sort(*all, before);
  all->erase(std::unique(all->begin(), all->end()), all->end());
  std::unordered_map<std::uint32_t, std::uint64_t> last;  // by thread
  for (const Reached& each : *all) {
    std::uint64_t& event = last[each.thread];
    event = std::max(event, each.event);
  }
  std::erase_if(*all, [&](const Reached& each) {
    if (each.event < last[each.thread]) return true;
    for (const EventClock::Counts* list : lists) {
      if ((*list)[each.thread] > each.event) return true;
    }
    // A meeting knows the events that it leads to, but no event of it implies another one.
    return std::ranges::any_of(meetings, [&](const auto& meeting) {
      const auto& [frontier, clock] = meeting;
      return clock->of(each.thread) > each.event &&
             !std::ranges::binary_search(*frontier, each, before);
    });
  });
  return all;
}

void RankOrder::take(std::uint32_t thread, const Cursor& cursor, const EventRecord& event,
                     std::vector<Source> sources) {
  if (cursor.frontier != nullptr) {
    sources.push_back({.clock = &cursor.clock, .event = {}, .frontier = cursor.frontier});
  }
  Waits waits;
  if (!sources.empty()) {
    // Without what the event before waited for.
    Frontier needed;
    const std::shared_ptr<const Frontier> events = frontierOf(sources);
    for (const Reached& each : *events) {
      if (each.thread != thread && each.event >= cursor.alone.of(each.thread)) {
        needed.push_back(each);
      }
    }
    waits.runs = runsOf(thread, needed);
  }
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
  for (const DelayWaits& delay : cursor.delays) {
    const model::Work through = delay.work + EventTimes::of(event).workBefore();
    waits.work = {
        .compute_ns = std::max(waits.work.compute_ns, through.compute_ns),
        .communication_ns = std::max(waits.work.communication_ns, through.communication_ns)};
    if (delay.reason) waits.reason = *delay.reason;
  }
  waits_[thread].emplace_back(cursor.next, std::move(waits));
}

std::vector<RankRun> RankOrder::runsOf(std::uint32_t own, const Frontier& events) const {
  const model::ScheduleThread& head = schedule_.threads()[own].head;
  std::vector<RankRun> runs;
  for (const Reached& event : events) {
    const model::ScheduleThread& other = schedule_.threads()[event.thread].head;
    const RankRun next{.first = other.rank,
                       .last = other.rank,
                       .thread = other.thread,
                       .event = static_cast<std::int64_t>(event.event)};
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
  const auto& all = waits_[thread];
  const auto found =
      std::ranges::lower_bound(all, event, {}, [](const auto& entry) { return entry.first; });
  return found == all.end() || found->first != event ? nullptr : &found->second;
}

}  // namespace omnio::preprocess::scale
