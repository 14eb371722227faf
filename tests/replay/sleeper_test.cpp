#include "replay/run/sleeper.hpp"

#include <gtest/gtest.h>
#include <time.h>

#include "replay/issue/backend.hpp"

namespace omnio::replay {
namespace {

constexpr std::int64_t kPauseNs = 30'000'000;

std::int64_t cpuNs() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

// The CPU time that a pause took.
std::int64_t cpuOfPause(double busy) {
  Sleeper sleeper;
  const std::int64_t until = nowNs() + kPauseNs;
  const std::int64_t before = cpuNs();
  sleeper.passUntil(until, false, busy);
  EXPECT_GE(nowNs(), until);
  return cpuNs() - before;
}

// A thread that is to be busy is less so while others have its processor: one turn has to be right.
TEST(Sleeper, PassesTheTimeAsBusyAsItIsToldTo) {
  constexpr int kMostTurns = 1000;
  bool is_in_order = false;
  for (int turn = 0; turn < kMostTurns && !is_in_order; ++turn) {
    const std::int64_t asleep = cpuOfPause(0);
    const std::int64_t half = cpuOfPause(0.5);
    const std::int64_t spinning = cpuOfPause(1);
    EXPECT_LE(half, kPauseNs / 2 + 1'000'000);
    is_in_order = asleep < half && half < spinning;
  }
  EXPECT_TRUE(is_in_order);
}

// Others than tests may use the processors meanwhile, so nothing is said of the CPU time.
TEST(Sleeper, YieldsUntilThePointInTime) {
  const std::int64_t until = nowNs() + 1'000'000;
  Sleeper::yieldUntil(until);
  EXPECT_GE(nowNs(), until);
}

TEST(Sleeper, APointInThePastIsOver) {
  Sleeper sleeper;
  const std::int64_t before = nowNs();
  // What is over for longer than anybody waits: the test would be ended.
  constexpr std::int64_t kHourNs = 3'600'000'000'000;
  for (const double busy : {0.0, 0.5, 1.0}) sleeper.passUntil(before - kHourNs, true, busy);
}

}  // namespace
}  // namespace omnio::replay
