#include "core/base/progress.hpp"

#include <gtest/gtest.h>

namespace omnio::base {
namespace {

TEST(Progress, TheLineSaysHowMuchOfHowManyAndHowLongItTakes) {
  const auto text = [](std::uint64_t done, std::uint64_t all, std::int64_t elapsed_ms) {
    return progressText({.what = "reading the trace",
                         .unit = "events",
                         .done = done,
                         .all = all,
                         .elapsed_ms = elapsed_ms});
  };
  EXPECT_EQ(text(12'345'678, 40'000'000, 11'000),
            "reading the trace: 12.3 of 40.0 million events, 30 %, 25 s left");
  EXPECT_EQ(text(1, 4, 60'000), "reading the trace: 1 of 4 events, 25 %, 3 min 0 s left");
  EXPECT_EQ(text(1, 100, 100'000), "reading the trace: 1 of 100 events, 1 %, 2 h 45 min left");
  EXPECT_EQ(text(1, 4, 999), "reading the trace: 1 of 4 events, 25 %") << "too early to guess";
  EXPECT_EQ(text(0, 4, 9'000), "reading the trace: 0 of 4 events, 0 %");
  EXPECT_EQ(text(5, 4, 9'000), "reading the trace: 5 events") << "read again";
  EXPECT_EQ(text(20'000'000, 0, 9'000), "reading the trace: 20.0 million events");
  EXPECT_EQ(text(0, 0, 9'000), "reading the trace");
}

TEST(Progress, AnInnerStageDoesNotCountInTheOuterOne) {
  EXPECT_FALSE(progressNow());
  progressBy(1000);
  const ProgressStage outer("outer", "events", 10);
  progressBy(3);
  {
    ProgressStage inner("inner", "MiB", 0);
    progressBy(100);
    EXPECT_EQ(progressNow()->what, "inner");
    EXPECT_EQ(progressNow()->done, 100U);
    inner.reach(7, 9);
    EXPECT_EQ(progressNow()->done, 7U);
    EXPECT_EQ(progressNow()->all, 9U);
    inner.reach(200, 900);
    EXPECT_EQ(progressNow()->done, 200U);
  }
  progressBy(2);
  EXPECT_EQ(progressNow()->what, "outer");
  EXPECT_EQ(progressNow()->done, 5U);
}

}  // namespace
}  // namespace omnio::base
