#include "preprocess/scale/steps/time_steps.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace omnio::preprocess::scale {
namespace {

struct Candidate {
  TurnLoop loop;
  bool writes = false;
  std::int64_t duration_ns = 0;
  std::set<model::FileNumber> files;  // that it reads and writes
};

// Whether loops of that many turns may go over the time steps: a turn may be a part of a step, and
// a part of the first or the last step may be outside of the loop.
bool fits(std::uint64_t turns, std::uint64_t steps) {
  constexpr std::uint64_t kMostParts = 64;
  return (turns % steps == 0 && turns / steps <= kMostParts) || turns + 1 == steps;
}

// The loops of the thread with what they do. Times are the first two measures.
std::vector<Candidate> candidatesOf(RecordedSchedule& schedule, const RecordedThread& thread) {
  std::vector<Candidate> candidates;
  for (const TurnLoop& loop : thread.loops) candidates.emplace_back().loop = loop;
  std::uint64_t place = thread.spooled;
  std::size_t next = 0;
  EventRecord event;
  for (std::uint64_t i = 0; i < thread.events && next < candidates.size(); ++i) {
    schedule.spool().read(place, event);
    if (schedule.spool().failed()) break;
    Candidate& candidate = candidates[next];
    if (i < candidate.loop.begin) continue;
    const KindFacts& facts = schedule.factsOf(event.kind);
    candidate.writes = candidate.writes || facts.writes;
    const auto fd = std::ranges::find(facts.keys, "fd");
    if ((facts.reads || facts.writes) && fd != facts.keys.end()) {
      const auto index = static_cast<std::size_t>(fd - facts.keys.begin());
      const auto* made = schedule.madeOf(thread.head.rank, event.numbers[index]);
      if (made != nullptr) candidate.files.insert(made->file);
    }
    if (event.measures.size() > 1) candidate.duration_ns += event.measures[0] + event.measures[1];
    if (i + 1 == candidate.loop.end()) ++next;
  }
  return candidates;
}

// The number of turns that fits loops which took most of the time.
std::uint64_t turnsOf(const std::vector<std::vector<Candidate>>& threads) {
  // A loop that only reads goes over an input as it is.
  const bool any_writes = std::ranges::any_of(threads, [](const auto& candidates) {
    return std::ranges::any_of(candidates, &Candidate::writes);
  });
  std::map<std::uint64_t, double> durations;  // by turns
  for (const auto& candidates : threads) {
    for (const Candidate& candidate : candidates) {
      if (candidate.writes != any_writes) continue;
      durations[candidate.loop.turns] += static_cast<double>(candidate.duration_ns) + 1;
    }
  }
  std::map<std::uint64_t, double> covered;
  double most = 0;
  for (const auto& [steps, own] : durations) {
    for (const auto& [turns, duration] : durations) {
      if (fits(turns, steps)) covered[steps] += duration;
    }
    most = std::max(most, covered[steps]);
  }
  // Few turns fit many loops by chance.
  constexpr double kNearly = 0.9;
  std::uint64_t best = 0;
  for (const auto& [steps, duration] : covered) {
    if (duration >= kNearly * most) best = steps;
  }
  return best;
}

// The loops of a thread that go over so many time steps.
std::vector<TurnLoop> loopsOf(const std::vector<Candidate>& candidates, std::uint64_t steps) {
  std::set<model::FileNumber> files;
  bool has_exact = false;
  for (const Candidate& candidate : candidates) {
    if (candidate.loop.turns != steps) continue;
    has_exact = true;
    files.insert(candidate.files.begin(), candidate.files.end());
  }
  const auto longest = std::ranges::max_element(candidates, {}, &Candidate::duration_ns);
  std::vector<TurnLoop> loops;
  for (auto candidate = candidates.begin(); candidate != candidates.end(); ++candidate) {
    const std::uint64_t turns = candidate->loop.turns;
    const bool is_on_files = has_exact ? std::ranges::includes(files, candidate->files)
                                       : candidate == longest && candidate->writes;
    if (turns != steps && !(is_on_files && fits(turns, steps))) continue;
    const std::uint64_t parts = std::max<std::uint64_t>(turns / steps, 1);
    loops.push_back({.begin = candidate->loop.begin,
                     .in_turn = candidate->loop.in_turn * parts,
                     .turns = turns / parts});
  }
  return loops;
}

}  // namespace

base::Result<TimeSteps> timeStepsOf(RecordedSchedule& schedule) {
  std::vector<std::vector<Candidate>> candidates;
  for (const RecordedThread& thread : schedule.threads()) {
    candidates.push_back(candidatesOf(schedule, thread));
  }
  if (const auto state = schedule.spool().state(); !state) return state.failure();
  TimeSteps steps{.loops = {}, .turns = turnsOf(candidates)};
  if (steps.turns == 0) {
    return base::failure(base::Code::kInvalid,
                         "no thread makes the same calls three times or more in a row: there are "
                         "no time steps that could be repeated");
  }
  for (const auto& of_thread : candidates) {
    steps.loops.push_back(loopsOf(of_thread, steps.turns));
  }
  return steps;
}

}  // namespace omnio::preprocess::scale
