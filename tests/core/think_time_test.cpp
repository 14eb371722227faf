#include "core/event/think_time.hpp"

#include <gtest/gtest.h>

namespace omnio::event {
namespace {

constexpr std::int64_t kMs = 1'000'000;

TEST(ThinkTime, IsNotKnownWhereNothingWasLookedAt) {
  ThinkTime think;
  EXPECT_FALSE(think.computing().has_value());
  think.pass(100 * kMs);
  EXPECT_FALSE(think.computing().has_value());
  think.look(0, 5);  // of no length
  EXPECT_FALSE(think.computing().has_value());
}

TEST(ThinkTime, AOneTimeBeginningDoesNotStandForTheRest) {
  ThinkTime think;
  think.pass(4 * kMs);
  think.look(4 * kMs, 4 * kMs);  // it fills its memory
  for (int i = 0; i < 500; ++i) think.pass(kMs / 5);
  for (int i = 0; i < 5; ++i) think.look(kMs / 5, kMs / 50);  // then it sleeps
  EXPECT_NEAR(*think.computing(), (4 + 0.1 * 100) / (4 + 100), 1e-6);
}

TEST(ThinkTime, TimesThatWereNotLookedAtAreLikeTheOnesNextToThem) {
  ThinkTime think;
  think.look(kMs, kMs);
  think.look(1000 * kMs, 0);
  think.pass(kMs / 4);
  think.pass(3 * kMs);
  think.pass(900 * kMs);
  EXPECT_NEAR(*think.computing(), (1 + 0.25 + 3) / (1 + 0.25 + 3 + 1000), 1e-9);
}

TEST(ThinkTime, TimesFarFromThoseThatWereLookedAtDoNotCount) {
  ThinkTime think;
  think.look(kMs, kMs);
  think.pass(100'000 * kMs);  // it waited for another thread, say
  EXPECT_EQ(think.computing(), 1);
}

TEST(ThinkTime, IsAPartWhateverADamagedLogSays) {
  ThinkTime think;
  for (int i = 0; i < 100; ++i) think.look(INT64_MAX, INT64_MAX / 2);
  for (int i = 0; i < 100; ++i) think.pass(INT64_MAX);
  think.pass(INT64_MIN);
  think.look(INT64_MIN, INT64_MAX);
  EXPECT_NEAR(*think.computing(), 0.5, 1e-6);
}

TEST(ThinkTime, ShortTimesDoNotCount) {
  ThinkTime think;
  for (int i = 0; i < 1'000'000; ++i) think.pass(2000);
  think.pass(-5);
  think.look(20'000, 20'000);  // the shortest that counts, beside the ones that do not
  think.pass(kMs / 4);
  think.look(kMs / 4, 0);
  EXPECT_NEAR(*think.computing(), 20.0 / 270, 1e-6);
}

TEST(ThinkTime, IsNotMoreThanAll) {
  ThinkTime think;
  think.look(kMs, 2 * kMs);  // the two clocks differ a little
  EXPECT_EQ(think.computing(), 1);
}

TEST(ThinkTime, LogsWithoutALookDoNotCount) {
  ThinkTime thread;
  thread.pass(10 * kMs);
  thread.look(10 * kMs, 10 * kMs);
  ThinkTime handler;
  handler.pass(1000 * kMs);
  ThinkTime sum;
  sum += handler;
  EXPECT_FALSE(sum.computing().has_value());
  sum += thread;
  sum += handler;
  EXPECT_EQ(sum.computing(), 1);
  ThinkTime sleeper;
  sleeper.pass(30 * kMs);
  sleeper.look(30 * kMs, 0);
  sum += sleeper;
  EXPECT_EQ(sum.computing(), 0.25);
}

}  // namespace
}  // namespace omnio::event
