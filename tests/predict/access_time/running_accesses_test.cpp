// Ends of accesses, beside a walk over all of them at each event.
#include "predict/access_time/running_accesses.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/integers.hpp"

namespace omnio::access_time {
namespace {

constexpr double kNever = RunningAccesses::kNever;

// The definition: each access has a part left, and all of them come on at each event, but those
// that wait for their turn.
class Walk {
 public:
  Walk(const std::vector<Access>& accesses, const SecondsOf& seconds_of, std::size_t /*threads*/)
      : accesses_(accesses), seconds_of_(seconds_of) {}

  double now() const { return now_s_; }
  void moveTo(double time_s) {
    const double passed_s = std::max(time_s - now_s_, 0.0);
    for (Use& use : uses_) {
      use.at_once_s += passed_s * static_cast<double>(uses_.size());
      if (passed_s > 0 && !waits(use)) use.left = std::max(use.left - passed_s / takes(use), 0.0);
    }
    now_s_ = std::max(now_s_, time_s);
  }
  void begin(std::size_t thread, std::uint32_t access) {
    uses_.push_back({.thread = thread, .access = access, .began_s = now_s_});
    findTurn();
  }
  double nextEnd() const {
    double end_s = kNever;
    for (const Use& use : uses_) end_s = std::min(end_s, now_s_ + leftOf(use));
    return end_s;
  }
  RunningAccesses::Ended endFirst() {
    const auto first =
        std::ranges::min_element(uses_, {}, [this](const Use& use) { return leftOf(use); });
    RunningAccesses::Ended ended{.thread = first->thread, .seconds = now_s_ - first->began_s};
    ended.at_once = first->at_once_s / ended.seconds;
    uses_.erase(first);
    findTurn();
    return ended;
  }

 private:
  struct Use {
    std::size_t thread = 0;
    std::uint32_t access = 0;
    double began_s = 0;
    double left = 1;
    double at_once_s = 0;
  };
  double takes(const Use& use) const {
    Access access = accesses_[use.access];
    access.processes = static_cast<double>(uses_.size());
    return access.is_by_turns ? seconds_of_(access) / static_cast<double>(turns_)
                              : seconds_of_(access);
  }
  bool isByTurns(const Use& use) const { return accesses_[use.access].is_by_turns; }
  void findTurn() {
    const auto is_by_turns = [this](const Use& use) { return isByTurns(use); };
    turns_ = std::ranges::count_if(uses_, is_by_turns);
    turn_ = static_cast<std::size_t>(std::ranges::find_if(uses_, is_by_turns) - uses_.begin());
  }
  bool waits(const Use& use) const { return isByTurns(use) && &use != &uses_[turn_]; }
  double leftOf(const Use& use) const { return waits(use) ? kNever : use.left * takes(use); }

  const std::vector<Access>& accesses_;
  const SecondsOf& seconds_of_;
  std::vector<Use> uses_;
  std::ptrdiff_t turns_ = 0;  // uses by turns
  std::size_t turn_ = 0;      // the first of these
  double now_s_ = 0;
};

// Each thread works and makes an access, again and again.
struct Work {
  double pause_s = 0;
  std::uint32_t access = 0;
};
using Threads = std::vector<std::vector<Work>>;

struct Outcome {
  std::size_t thread = 0, number = 0;  // of its accesses
  double end_s = 0, seconds = 0, at_once = 0;
};

template <typename Accesses>
std::vector<Outcome> outcomesOf(const Threads& threads, const std::vector<Access>& accesses,
                                const SecondsOf& seconds_of) {
  Accesses running(accesses, seconds_of, threads.size());
  std::vector<std::size_t> next(threads.size());
  std::priority_queue<std::pair<double, std::size_t>, std::vector<std::pair<double, std::size_t>>,
                      std::greater<>>
      starts;
  const auto pause = [&](std::size_t thread) {
    if (next[thread] == threads[thread].size()) return;
    starts.emplace(running.now() + threads[thread][next[thread]].pause_s, thread);
  };
  for (std::size_t i = 0; i < threads.size(); ++i) pause(i);
  std::vector<Outcome> outcomes;
  while (true) {
    const double start_s = starts.empty() ? kNever : starts.top().first;
    const double end_s = running.nextEnd();
    if (start_s == kNever && end_s == kNever) break;
    running.moveTo(std::min(start_s, end_s));
    if (end_s <= start_s) {
      const RunningAccesses::Ended ended = running.endFirst();
      outcomes.push_back(
          {ended.thread, next[ended.thread]++, running.now(), ended.seconds, ended.at_once});
      pause(ended.thread);
    } else {
      const std::size_t thread = starts.top().second;
      starts.pop();
      running.begin(thread, threads[thread][next[thread]].access);
    }
  }
  std::ranges::sort(outcomes, {},
                    [](const Outcome& each) { return std::tuple(each.thread, each.number); });
  return outcomes;
}

// `bytes` names the access for `seconds_of`. Every so manyth is by turns; 0: none.
std::vector<Access> accessesOf(std::uint32_t count, std::uint32_t by_turns = 0) {
  std::vector<Access> accesses(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    accesses[i].bytes = i;
    accesses[i].is_by_turns = by_turns > 0 && i % by_turns == 0;
  }
  return accesses;
}

Threads randomThreads(std::size_t threads, std::size_t uses, std::uint32_t accesses,
                      std::uint64_t seed) {
  Threads result(threads);
  std::uint64_t draw = base::mixed(seed);
  const auto unit = [&draw] {
    draw = base::mixed(draw);
    return static_cast<double>(draw >> 11U) * 0x1p-53;
  };
  for (std::vector<Work>& thread : result) {
    for (std::size_t i = 0; i < uses; ++i) {
      const auto access = static_cast<std::uint32_t>(unit() * accesses);
      // Some go on at once.
      thread.push_back({unit() < 0.2 ? 0 : 0.3 * unit(), access});
    }
  }
  return result;
}

// Where accesses slow each other, rounding grows from one to the next: the walk itself ends up to
// 1e-10 later where its pauses are 1e-15 longer.
void expectEqual(const std::vector<Outcome>& found, const std::vector<Outcome>& wanted,
                 double near) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string what = "access " + std::to_string(found[i].number) + " of thread " +
                             std::to_string(found[i].thread);
    ASSERT_NEAR(found[i].end_s, wanted[i].end_s, near * wanted[i].end_s) << what;
    ASSERT_NEAR(found[i].seconds, wanted[i].seconds, near * wanted[i].end_s) << what;
    // One that takes no time has as many beside it as chance has it.
    if (wanted[i].seconds < 1e-3) continue;
    ASSERT_NEAR(found[i].at_once, wanted[i].at_once, 1e3 * near * wanted[i].at_once) << what;
  }
}

// Some accesses share the storage, some do not, some suffer from others more than that; every
// seventh takes no time, and of every eleventh one alone does not.
double mixedSeconds(const Access& access) {
  const auto number = static_cast<int>(access.bytes);
  if (number % 7 == 6) return 0;
  if (number % 11 == 10 && access.processes == 1) return 0;
  const double alone_s = 0.01 + 0.003 * number;
  const double power = number % 3 == 0 ? 0 : number % 3 == 1 ? 1 : 1.2;
  return alone_s * std::pow(access.processes, power);
}

TEST(RunningAccessesTest, EndAsByAWalkOverAll) {
  const SecondsOf seconds_of = mixedSeconds;
  std::uint64_t seed = 1;
  for (const std::size_t threads : {1U, 2U, 3U, 17U, 64U}) {
    for (const std::uint32_t kinds : {1U, 2U, 7U, 40U, 200U}) {
      for (const std::uint32_t by_turns : {0U, 1U, 3U}) {
        const auto accesses = accessesOf(kinds, by_turns);
        const Threads work = randomThreads(threads, 60, kinds, ++seed);
        const auto wanted = outcomesOf<Walk>(work, accesses, seconds_of);
        ASSERT_EQ(wanted.size(), threads * 60);
        expectEqual(outcomesOf<RunningAccesses>(work, accesses, seconds_of), wanted, 1e-8);
      }
    }
  }
}

// Four that take 1 s alone, and 4 s if all come again and again.
TEST(RunningAccessesTest, EndOneAfterAnotherWhereTheyAreByTurns) {
  const SecondsOf seconds_of = [](const Access& access) { return access.processes; };
  const auto accesses = accessesOf(1, 1);
  const auto once = outcomesOf<RunningAccesses>(Threads(4, {{}}), accesses, seconds_of);
  ASSERT_EQ(once.size(), 4U);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_DOUBLE_EQ(once[i].seconds, 1.0 + i) << i;
  const auto often =
      outcomesOf<RunningAccesses>(Threads(4, std::vector<Work>(100)), accesses, seconds_of);
  ASSERT_EQ(often.size(), 400U);
  for (const Outcome& each : often) {
    // At the end some have ended before others.
    const bool has_others = each.number > 0 && each.number < 96;
    if (has_others) {
      EXPECT_NEAR(each.seconds, 4, 1e-9) << each.number;
    }
  }
}

// One access is under way all the time, by one thread or another.
TEST(RunningAccessesTest, EndAsByAWalkAfterManyThousandOfOneKind) {
  const SecondsOf seconds_of = [](const Access&) { return 0.01; };
  const auto accesses = accessesOf(1);
  Threads work = randomThreads(3, 20'000, 1, 5);
  for (std::vector<Work>& thread : work) {
    for (Work& each : thread) each.pause_s *= 0.01;
  }
  expectEqual(outcomesOf<RunningAccesses>(work, accesses, seconds_of),
              outcomesOf<Walk>(work, accesses, seconds_of), 1e-9);
}

// The time of all accesses of hundreds of threads, over that by a walk.
double totalToWalk(const SecondsOf& seconds_of, std::uint32_t kinds, std::uint32_t by_turns) {
  const auto accesses = accessesOf(kinds, by_turns);
  const Threads work = randomThreads(400, 5, kinds, 9);
  const auto found = outcomesOf<RunningAccesses>(work, accesses, seconds_of);
  const auto wanted = outcomesOf<Walk>(work, accesses, seconds_of);
  EXPECT_EQ(found.size(), wanted.size());
  const auto total = [](const std::vector<Outcome>& outcomes) {
    double seconds = 0;
    for (const Outcome& each : outcomes) seconds += each.seconds;
    return seconds;
  };
  return total(found) / total(wanted);
}

// Above 128 at once, the number that decides is near the count.
TEST(RunningAccessesTest, EndAboutAsByAWalkWhereHundredsAreUnderWay) {
  for (const double power : {0.0, 1.0, 1.5}) {
    const SecondsOf seconds_of = [power](const Access& access) {
      return (0.01 + 0.003 * access.bytes) * std::pow(access.processes, power);
    };
    for (const std::uint32_t kinds : {3U, 400U}) {
      EXPECT_NEAR(totalToWalk(seconds_of, kinds, 0), 1, 0.005) << power << ", " << kinds;
    }
  }
}

TEST(RunningAccessesTest, EndAboutAsByAWalkWhereHundredsTakeTurns) {
  const SecondsOf seconds_of = [](const Access& access) {
    return (0.01 + 0.003 * access.bytes) * access.processes;
  };
  EXPECT_NEAR(totalToWalk(seconds_of, 3, 3), 1, 0.005);
}

// All leave one access for another that is by turns, at times of their own: how many are under way
// stays as it is, and how many are in the queue does not.
TEST(RunningAccessesTest, EndByTurnsAsByAWalkWhereTheNumberOfAllStays) {
  const SecondsOf seconds_of = [](const Access& access) {
    return access.is_by_turns ? 1e-3 * access.processes : 1;
  };
  auto accesses = accessesOf(2);
  accesses[1].is_by_turns = true;
  Threads work(300);
  for (std::size_t i = 0; i < work.size(); ++i) {
    work[i] = {{.pause_s = 1e-4 * static_cast<double>(i), .access = 0}, {.access = 1}};
  }
  const auto found = outcomesOf<RunningAccesses>(work, accesses, seconds_of);
  const auto wanted = outcomesOf<Walk>(work, accesses, seconds_of);
  ASSERT_EQ(found.size(), wanted.size());
  double found_s = 0, wanted_s = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    found_s = std::max(found_s, found[i].end_s);
    wanted_s = std::max(wanted_s, wanted[i].end_s);
  }
  EXPECT_NEAR(found_s / wanted_s, 1, 0.02);
}

TEST(RunningAccessesTest, AskForFewTimesWhereThousandsAreUnderWay) {
  std::size_t asked = 0;
  const SecondsOf seconds_of = [&asked](const Access& access) {
    ++asked;
    return 0.1 + access.processes * 1e-3;
  };
  const auto accesses = accessesOf(1);
  const Threads work = randomThreads(3000, 2, 1, 13);
  EXPECT_EQ(outcomesOf<RunningAccesses>(work, accesses, seconds_of).size(), 6000U);
  EXPECT_LT(asked, 128U + 64 * 5);
}

}  // namespace
}  // namespace omnio::access_time
