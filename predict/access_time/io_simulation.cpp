#include "predict/access_time/io_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <queue>
#include <unordered_map>
#include <utility>

namespace omnio::access_time {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kNs = 1e-9;

// The time of each access by the number at once, found once.
class Times {
 public:
  Times(const Program& program, const SecondsOf& seconds_of)
      : program_(program), seconds_of_(seconds_of) {}

  double of(std::uint32_t access, std::size_t processes) {
    const std::uint64_t key = std::uint64_t{access} << 32U | processes;
    const auto [found, is_new] = known_.try_emplace(key, 0.0);
    if (is_new) {
      Access asked = program_.accesses[access];
      asked.processes = static_cast<double>(processes);
      found->second = seconds_of_(asked);
    }
    return found->second;
  }

 private:
  const Program& program_;
  const SecondsOf& seconds_of_;
  std::unordered_map<std::uint64_t, double> known_;
};

double& partOf(RankTime& time, CellOperation operation) {
  switch (operation) {
    case CellOperation::kRead:
    case CellOperation::kWrite:
      return time.data_s;
    case CellOperation::kFsync:
    case CellOperation::kFdatasync:
      return time.sync_s;
    default:
      return time.metadata_s;
  }
}

void setSlowest(IoProfile& profile) {
  const auto slowest = std::ranges::max_element(profile.ranks, {}, &RankTime::total);
  profile.slowest_rank = static_cast<std::size_t>(slowest - profile.ranks.begin());
}

class Simulation {
 public:
  Simulation(const Program& program, const SecondsOf& seconds_of)
      : program_(program), times_(program, seconds_of), threads_(program.threads.size()) {
    int ranks = std::max(program.rank_count, 1);
    for (const ProgramThread& thread : program.threads) ranks = std::max(ranks, thread.rank + 1);
    ranks_.resize(static_cast<std::size_t>(ranks));
    profile_.ranks.resize(ranks_.size());
    for (const Access& access : program.accesses) profile_.uses.push_back({.access = access});
    at_once_.resize(program.accesses.size());
    for (std::size_t i = 0; i < program.threads.size(); ++i) {
      for (const ProgramStep& step : program.threads[i].steps) {
        if (step.id != 0) events_[step.id].recorded_end_ns = step.end_ns;
      }
    }
  }

  IoProfile run() {
    for (std::size_t i = 0; i < threads_.size(); ++i) comeTo(i);
    while (true) {
      const double next_start = starts_.empty() ? kNever : starts_.top().first;
      const auto [next_end, ending] = nextEnd();
      if (next_start == kNever && next_end == kNever) {
        if (!giveUpAWait()) break;
        continue;
      }
      if (next_end <= next_start) {
        moveTo(next_end);
        endAccess(ending);
      } else {
        moveTo(next_start);
        const std::size_t thread = starts_.top().second;
        starts_.pop();
        begin(thread);
      }
    }
    finish();
    return std::move(profile_);
  }

 private:
  // More accesses at once than this are not looked at each time that one begins or ends: they take
  // as long as they would with the number at their start.
  static constexpr std::size_t kMostWatched = 64;

  struct Thread {
    std::size_t next = 0;  // step
    double free_s = 0;     // when its step before has ended
    std::int64_t recorded_end_ns = 0;
    std::size_t missing = 0;  // waits of its next step whose events have not ended
    double began_s = 0;       // the access that it is in
    double at_once_s = 0;     // the sum of the number at once over the time of that
  };
  struct Event {
    std::int64_t recorded_end_ns = 0;
    double end_s = kNever;
    std::vector<std::size_t> waiters;  // threads
  };
  struct Rank {
    std::size_t active = 0;  // accesses of its threads
    double began_s = 0;
    double in_calls_s = 0;  // the union
    RankTime sums;
  };
  struct Active {
    std::size_t thread;
    double left = 1;        // of the access
    double end_s = kNever;  // where it is not watched
  };

  const ProgramStep& stepOf(std::size_t thread) const {
    return program_.threads[thread].steps[threads_[thread].next];
  }
  const model::Wait* waitsOf(const ProgramStep& step) const {
    return program_.waits.data() + step.first_wait;
  }

  // The thread's next step begins when all that it waits for has ended.
  void comeTo(std::size_t number) {
    Thread& thread = threads_[number];
    if (thread.next == program_.threads[number].steps.size()) return;
    const ProgramStep& step = stepOf(number);
    thread.missing = 0;
    for (std::uint32_t i = 0; i < step.waits; ++i) {
      const auto event = events_.find(waitsOf(step)[i].id);
      if (event == events_.end() || event->second.end_s != kNever) continue;
      event->second.waiters.push_back(number);
      ++thread.missing;
    }
    if (thread.missing == 0) setStart(number);
  }

  void setStart(std::size_t number) {
    const Thread& thread = threads_[number];
    const ProgramStep& step = stepOf(number);
    double start_s = thread.free_s;
    std::int64_t recorded_ns = thread.recorded_end_ns;
    if (step.has_own) start_s += static_cast<double>(step.own_ns) * kNs;
    for (std::uint32_t i = 0; i < step.waits; ++i) {
      const model::Wait& wait = waitsOf(step)[i];
      const auto event = events_.find(wait.id);
      if (event == events_.end() || event->second.end_s == kNever) continue;
      const auto work_ns = step.has_own ? wait.work.total() : 0;
      start_s = std::max(start_s, event->second.end_s + static_cast<double>(work_ns) * kNs);
      recorded_ns = std::max(recorded_ns, event->second.recorded_end_ns);
    }
    if (!step.has_own) {
      const std::int64_t pause_ns =
          step.start_ns - recorded_ns - program_.threads[number].recorder_ns;
      start_s += static_cast<double>(std::max<std::int64_t>(pause_ns, 0)) * kNs;
    }
    starts_.emplace(std::max(start_s, now_s_), number);
  }

  void begin(std::size_t number) {
    const ProgramStep& step = stepOf(number);
    if (step.access == kNoAccess) {
      if (!step.is_delay || step.end_ns <= step.start_ns) return endStep(number);
      // A delay takes its time, and no storage.
      delays_.emplace(now_s_ + static_cast<double>(step.end_ns - step.start_ns) * kNs, number);
      return;
    }
    Rank& rank = rankOf(number);
    if (rank.active++ == 0) rank.began_s = now_s_;
    threads_[number].began_s = now_s_;
    threads_[number].at_once_s = 0;
    Active active{.thread = number};
    if (active_.size() >= kMostWatched) {
      active.end_s = now_s_ + times_.of(step.access, active_.size() + 1);
    }
    active_.push_back(active);
  }

  std::pair<double, std::size_t> nextEnd() {
    double end_s = delays_.empty() ? kNever : delays_.top().first;
    std::size_t ending = kDelay;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      const Active& active = active_[i];
      const double at =
          active.end_s != kNever
              ? active.end_s
              : now_s_ + active.left * times_.of(stepOf(active.thread).access, active_.size());
      if (at < end_s) {
        end_s = at;
        ending = i;
      }
    }
    return {end_s, ending};
  }

  void moveTo(double time_s) {
    const double passed_s = std::max(time_s - now_s_, 0.0);
    if (passed_s > 0) {
      for (Active& active : active_) {
        threads_[active.thread].at_once_s += passed_s * static_cast<double>(active_.size());
        if (active.end_s != kNever) continue;
        const double takes_s = times_.of(stepOf(active.thread).access, active_.size());
        active.left = takes_s > 0 ? std::max(active.left - passed_s / takes_s, 0.0) : 0;
      }
    }
    now_s_ = std::max(now_s_, time_s);
  }

  void endAccess(std::size_t ending) {
    if (ending == kDelay) {
      const std::size_t thread = delays_.top().second;
      delays_.pop();
      return endStep(thread);
    }
    const std::size_t number = active_[ending].thread;
    const std::size_t at_once = active_.size();
    active_[ending] = active_.back();
    active_.pop_back();
    const Thread& thread = threads_[number];
    const ProgramStep& step = stepOf(number);
    const double took_s = now_s_ - thread.began_s;
    AccessUse& use = profile_.uses[step.access];
    use.count += 1;
    use.seconds += took_s;
    at_once_[step.access] += took_s > 0 ? thread.at_once_s / took_s : static_cast<double>(at_once);
    Rank& rank = rankOf(number);
    partOf(rank.sums, use.access.operation) += took_s;
    if (--rank.active == 0) rank.in_calls_s += now_s_ - rank.began_s;
    endStep(number);
  }

  void endStep(std::size_t number) {
    Thread& thread = threads_[number];
    const ProgramStep& step = stepOf(number);
    thread.free_s = now_s_;
    thread.recorded_end_ns = std::max(thread.recorded_end_ns, step.end_ns);
    profile_.makespan_s = now_s_;
    ++thread.next;
    if (step.id != 0) {
      Event& event = events_[step.id];
      event.end_s = now_s_;
      for (const std::size_t waiter : std::exchange(event.waiters, {})) {
        // One whose wait was given up has gone on.
        if (threads_[waiter].missing > 0 && --threads_[waiter].missing == 0) setStart(waiter);
      }
    }
    comeTo(number);
  }

  // Where all wait for each other, which a replay refuses: the one that began first goes on.
  bool giveUpAWait() {
    std::size_t first = threads_.size();
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (threads_[i].missing == 0) continue;
      if (first == threads_.size() || stepOf(i).start_ns < stepOf(first).start_ns) first = i;
    }
    if (first == threads_.size()) return false;
    ++profile_.given_up_waits;
    const ProgramStep& step = stepOf(first);
    for (std::uint32_t i = 0; i < step.waits; ++i) {
      const auto event = events_.find(waitsOf(step)[i].id);
      if (event != events_.end()) std::erase(event->second.waiters, first);
    }
    threads_[first].missing = 0;
    setStart(first);
    return true;
  }

  Rank& rankOf(std::size_t thread) {
    return ranks_[static_cast<std::size_t>(program_.threads[thread].rank)];
  }

  // Of threads that were in calls at the same time, the union counts, by their parts.
  void finish() {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const Rank& rank = ranks_[i];
      const double sum = rank.sums.total();
      const double part = sum > 0 ? rank.in_calls_s / sum : 0;
      profile_.ranks[i] = {rank.sums.data_s * part, rank.sums.metadata_s * part,
                           rank.sums.sync_s * part};
    }
    for (std::size_t i = 0; i < profile_.uses.size(); ++i) {
      AccessUse& use = profile_.uses[i];
      use.access.processes = use.count > 0 ? at_once_[i] / use.count : 1;
    }
    setSlowest(profile_);
  }

  static constexpr std::size_t kDelay = std::numeric_limits<std::size_t>::max();
  using Moment = std::pair<double, std::size_t>;
  using Moments = std::priority_queue<Moment, std::vector<Moment>, std::greater<>>;

  const Program& program_;
  Times times_;
  std::vector<Thread> threads_;
  std::vector<Rank> ranks_;
  std::unordered_map<std::uint64_t, Event> events_;
  Moments starts_;
  Moments delays_;
  std::vector<Active> active_;
  std::vector<double> at_once_;  // of each access, summed over its uses
  IoProfile profile_;
  double now_s_ = 0;
};

}  // namespace

IoProfile simulate(const Program& program, const SecondsOf& seconds_of) {
  return Simulation(program, seconds_of).run();
}

IoProfile balance(const Program& program, const SecondsOf& seconds_of) {
  constexpr int kMostSteps = 200;
  constexpr double kNear = 1e-6;
  IoProfile profile;
  const std::size_t ranks = program.ranks.size();
  profile.ranks.resize(ranks);
  std::vector<double> at_once(ranks, 1);
  const auto accessOf = [&](const RankAccesses::Count& each, std::size_t rank) {
    Access access = program.accesses[each.access];
    access.processes = each.processes > 0 ? each.processes : at_once[rank];
    return access;
  };
  const auto timesOf = [&](std::size_t rank) {
    RankTime time;
    for (const RankAccesses::Count& each : program.ranks[rank].counts) {
      const Access access = accessOf(each, rank);
      partOf(time, access.operation) += each.count * seconds_of(access);
    }
    return time;
  };
  for (int step = 0; step < kMostSteps; ++step) {
    // Each rank's part of its own time in calls; ranks run side by side.
    std::vector<double> parts(ranks);
    double all = 0;
    for (std::size_t i = 0; i < ranks; ++i) {
      profile.ranks[i] = timesOf(i);
      const double in_calls = profile.ranks[i].total();
      parts[i] = in_calls > 0 ? in_calls / (in_calls + program.ranks[i].own_s) : 0;
      all += parts[i];
    }
    double moved = 0;
    for (std::size_t i = 0; i < ranks; ++i) {
      // Half of the way each time, which comes to an end.
      const double next = 0.5 * at_once[i] + 0.5 * (1 + all - parts[i]);
      moved = std::max(moved, std::abs(next - at_once[i]));
      at_once[i] = next;
    }
    if (moved < kNear) break;
  }
  for (const Access& access : program.accesses) {
    profile.uses.push_back({.access = access});
    profile.uses.back().access.processes = 0;
  }
  for (std::size_t i = 0; i < ranks; ++i) {
    profile.ranks[i] = timesOf(i);
    for (const RankAccesses::Count& each : program.ranks[i].counts) {
      const Access access = accessOf(each, i);
      AccessUse& use = profile.uses[each.access];
      use.count += each.count;
      use.seconds += each.count * seconds_of(access);
      use.access.processes += each.count * access.processes;
    }
  }
  for (AccessUse& use : profile.uses) {
    use.access.processes = use.count > 0 ? use.access.processes / use.count : 1;
  }
  setSlowest(profile);
  return profile;
}

}  // namespace omnio::access_time
