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

TEST(Sleeper, PassesTheTimeAsBusyAsItIsToldTo) {
  const std::int64_t asleep = cpuOfPause(0);
  const std::int64_t half = cpuOfPause(0.5);
  const std::int64_t spinning = cpuOfPause(1);
  EXPECT_LT(asleep, half);
  EXPECT_LE(half, kPauseNs / 2 + 1'000'000);
  EXPECT_LT(half, spinning);
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
  for (const double busy : {0.0, 0.5, 1.0}) sleeper.passUntil(before - 1'000'000'000, true, busy);
  EXPECT_LT(nowNs() - before, 1'000'000'000);
}

}  // namespace
}  // namespace omnio::replay
