#include "predict/access_time/io_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "predict/access_time/running_accesses.hpp"

namespace omnio::access_time {

namespace {

constexpr double kNever = RunningAccesses::kNever;
constexpr double kNs = 1e-9;

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
      : program_(program),
        running_(program.accesses, seconds_of, program.threads.size()),
        threads_(program.threads.size()) {
    int ranks = std::max(program.rank_count, 1);
    for (const ProgramThread& thread : program.threads) ranks = std::max(ranks, thread.rank + 1);
    ranks_.resize(static_cast<std::size_t>(ranks));
    profile_.ranks.resize(ranks_.size());
    for (const Access& access : program.accesses) profile_.uses.push_back({.access = access});
    at_once_.resize(program.accesses.size());
    ends_.resize(program.details.size());
  }

  IoProfile run() {
    for (std::size_t i = 0; i < threads_.size(); ++i) comeTo(i);
    while (true) {
      const double next_start_s = firstOf(starts_);
      const double next_delay_s = firstOf(delays_);
      const double next_access_s = running_.nextEnd();
      const double next_end_s = std::min(next_delay_s, next_access_s);
      if (next_start_s == kNever && next_end_s == kNever) {
        if (!giveUpAWait()) break;
        continue;
      }
      running_.moveTo(std::min(next_start_s, next_end_s));
      if (next_start_s < next_end_s) {
        begin(take(starts_));
      } else if (next_delay_s <= next_access_s) {
        endStep(take(delays_));
      } else {
        endAccess();
      }
    }
    finish();
    return std::move(profile_);
  }

 private:
  struct Thread {
    std::size_t next = 0;     // step
    double free_s = 0;        // when its step before has ended
    std::size_t missing = 0;  // waits of its next step whose events have not ended
  };
  struct End {  // of a step with details
    double end_s = kNever;
    std::vector<std::uint32_t> waiters;  // threads
  };
  struct Rank {
    std::size_t active = 0;  // accesses of its threads
    double began_s = 0;
    double in_calls_s = 0;  // the union
    RankTime sums;
  };
  using Moment = std::pair<double, std::size_t>;  // when, and the thread
  using Moments = std::priority_queue<Moment, std::vector<Moment>, std::greater<>>;

  static double firstOf(const Moments& moments) {
    return moments.empty() ? kNever : moments.top().first;
  }
  static std::size_t take(Moments& moments) {
    const std::size_t thread = moments.top().second;
    moments.pop();
    return thread;
  }

  const ProgramStep& stepOf(std::size_t thread) const {
    return program_.threads[thread].steps[threads_[thread].next];
  }
  // nullptr: it neither waits, nor is waited for, nor is a delay.
  const StepDetail* detailOf(std::size_t thread) const {
    const std::uint32_t detail = stepOf(thread).detail;
    return detail == kNoDetail ? nullptr : &program_.details[detail];
  }
  std::span<const StepWait> waitsOf(const StepDetail& detail) const {
    return std::span(program_.waits).subspan(detail.first_wait, detail.waits);
  }

  // The thread's next step begins when all that it waits for has ended.
  void comeTo(std::size_t number) {
    Thread& thread = threads_[number];
    if (thread.next == program_.threads[number].steps.size()) return;
    thread.missing = 0;
    if (const StepDetail* const detail = detailOf(number)) {
      for (const StepWait& wait : waitsOf(*detail)) {
        if (wait.detail == kNoDetail || ends_[wait.detail].end_s != kNever) continue;
        ends_[wait.detail].waiters.push_back(static_cast<std::uint32_t>(number));
        ++thread.missing;
      }
    }
    if (thread.missing == 0) setStart(number);
  }

  void setStart(std::size_t number) {
    double start_s = threads_[number].free_s + static_cast<double>(stepOf(number).own_ns) * kNs;
    if (const StepDetail* const detail = detailOf(number)) {
      start_s = startAfter(*detail, start_s, program_.threads[number].recorder_ns);
    }
    starts_.emplace(std::max(start_s, running_.now()), number);
  }

  double startAfter(const StepDetail& detail, double start_s, std::int64_t recorder_ns) const {
    std::int64_t recorded_ns = detail.before_ns;
    for (const StepWait& wait : waitsOf(detail)) {
      if (wait.detail == kNoDetail || ends_[wait.detail].end_s == kNever) continue;
      const auto work_ns = detail.has_recorded_pause ? 0 : wait.work_ns;
      start_s = std::max(start_s, ends_[wait.detail].end_s + static_cast<double>(work_ns) * kNs);
      recorded_ns = std::max(recorded_ns, program_.details[wait.detail].end_ns);
    }
    if (!detail.has_recorded_pause) return start_s;
    const std::int64_t pause_ns = detail.start_ns - recorded_ns - recorder_ns;
    return start_s + static_cast<double>(std::max<std::int64_t>(pause_ns, 0)) * kNs;
  }

  void begin(std::size_t number) {
    const ProgramStep& step = stepOf(number);
    if (step.access == kNoAccess) {
      const StepDetail* const detail = detailOf(number);
      const bool takes_time =
          detail != nullptr && detail->is_delay && detail->end_ns > detail->start_ns;
      if (!takes_time) return endStep(number);
      // A delay takes its time, and no storage.
      delays_.emplace(running_.now() + static_cast<double>(detail->end_ns - detail->start_ns) * kNs,
                      number);
      return;
    }
    Rank& rank = rankOf(number);
    if (rank.active++ == 0) rank.began_s = running_.now();
    running_.begin(number, step.access);
  }

  void endAccess() {
    const RunningAccesses::Ended ended = running_.endFirst();
    const ProgramStep& step = stepOf(ended.thread);
    AccessUse& use = profile_.uses[step.access];
    use.count += 1;
    use.seconds += ended.seconds;
    at_once_[step.access] += ended.at_once;
    Rank& rank = rankOf(ended.thread);
    partOf(rank.sums, use.access.operation) += ended.seconds;
    if (--rank.active == 0) rank.in_calls_s += running_.now() - rank.began_s;
    endStep(ended.thread);
  }

  void endStep(std::size_t number) {
    const StepDetail* const detail = detailOf(number);
    Thread& thread = threads_[number];
    thread.free_s = running_.now();
    profile_.makespan_s = running_.now();
    ++thread.next;
    if (detail != nullptr) {
      End& end = ends_[static_cast<std::size_t>(detail - program_.details.data())];
      end.end_s = running_.now();
      for (const std::uint32_t waiter : std::exchange(end.waiters, {})) {
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
      if (first == threads_.size() || detailOf(i)->start_ns < detailOf(first)->start_ns) first = i;
    }
    if (first == threads_.size()) return false;
    ++profile_.given_up_waits;
    for (const StepWait& wait : waitsOf(*detailOf(first))) {
      if (wait.detail != kNoDetail) std::erase(ends_[wait.detail].waiters, first);
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

  const Program& program_;
  RunningAccesses running_;
  std::vector<Thread> threads_;
  std::vector<Rank> ranks_;
  std::vector<End> ends_;  // as Program::details
  Moments starts_;
  Moments delays_;
  std::vector<double> at_once_;  // of each access, summed over its uses
  IoProfile profile_;
};

// How many ranks are in calls at once while each is. Ranks begin together, each is in calls for the
// same part of its time until its end, and one that has ended leaves the storage to those that go
// on. The mean is that of 1/n, which is how fast an access comes on that shares the storage.
std::vector<double> atOnceOf(const Program& program, const std::vector<RankTime>& times) {
  struct Rank {
    double ends_s = 0;
    double part = 0;  // of its time, in calls
    std::size_t number = 0;
  };
  std::vector<Rank> ranks;
  double in_calls = 0;  // of those that have not ended
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double in_calls_s = times[i].total(), ends_s = in_calls_s + program.ranks[i].own_s;
    ranks.push_back({ends_s, ends_s > 0 ? in_calls_s / ends_s : 0, i});
    in_calls += ranks.back().part;
  }
  std::ranges::sort(ranks, {}, &Rank::ends_s);
  // Between two ends the number is the same. Of thousands of ranks, some end together.
  constexpr std::size_t kMostSpans = 256;
  struct Span {
    double until_s = 0;
    double in_calls = 0;
  };
  std::vector<Span> spans;
  const std::size_t together = (ranks.size() + kMostSpans - 1) / kMostSpans;
  for (std::size_t i = 0; i < ranks.size();) {
    const std::size_t behind = std::min(i + together, ranks.size());
    double ending = 0;
    for (; i < behind; ++i) ending += ranks[i].part;
    spans.push_back({ranks[behind - 1].ends_s, in_calls - (together > 1 ? ending / 2 : 0)});
    in_calls -= ending;
  }
  std::vector<double> at_once(ranks.size(), 1);
  for (const Rank& rank : ranks) {
    double from_s = 0, alone_s = 0;
    for (const Span& span : spans) {
      const double to_s = std::min(span.until_s, rank.ends_s);
      alone_s += (to_s - from_s) / std::max(1 + span.in_calls - rank.part, 1.0);
      from_s = to_s;
      if (span.until_s >= rank.ends_s) break;
    }
    if (alone_s > 0) at_once[rank.number] = rank.ends_s / alone_s;
  }
  return at_once;
}

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
    for (std::size_t i = 0; i < ranks; ++i) profile.ranks[i] = timesOf(i);
    const std::vector<double> found = atOnceOf(program, profile.ranks);
    double moved = 0;
    for (std::size_t i = 0; i < ranks; ++i) {
      // Half of the way each time, which comes to an end.
      const double next = 0.5 * at_once[i] + 0.5 * found[i];
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
