#include "predict/calibration/time_summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace omnio::predict {
namespace {

TEST(TimeSummary, ClassesFollowEachOtherWithoutGaps) {
  EXPECT_EQ(TimeSummary::classOf(-5), 0);
  EXPECT_EQ(TimeSummary::classOf(INT64_MAX), TimeSummary::classOf(TimeSummary::kLongestNs));
  for (int number = 0; number <= TimeSummary::classOf(TimeSummary::kLongestNs); ++number) {
    const std::int64_t lower = TimeSummary::lowerNs(number);
    EXPECT_EQ(TimeSummary::classOf(lower), number);
    if (number > 0) {
      EXPECT_EQ(TimeSummary::classOf(lower - 1), number - 1);
    }
  }
}

TEST(TimeSummary, NumbersAreThoseOfTheTimes) {
  std::mt19937 chance(3);
  std::lognormal_distribution<double> times(8, 2);
  TimeSummary summary;
  TimeSummary halves[2];
  std::vector<double> all;
  for (int i = 0; i < 5000; ++i) {
    const auto time = static_cast<std::int64_t>(times(chance));
    summary.add(time);
    halves[i % 2].add(time);
    all.push_back(static_cast<double>(time));
  }
  std::ranges::sort(all);
  double total = 0;
  for (const double time : all) total += time;
  const double mean = total / 5000;
  double squares = 0;
  for (const double time : all) squares += (time - mean) * (time - mean);
  EXPECT_EQ(static_cast<double>(summary.totalNs()), total);
  EXPECT_EQ(static_cast<double>(summary.leastNs()), all.front());
  EXPECT_EQ(static_cast<double>(summary.mostNs()), all.back());
  EXPECT_NEAR(summary.deviationNs() / std::sqrt(squares / 4999), 1, 1e-9);
  for (const double share : {0.01, 0.25, 0.5, 0.9, 0.99}) {
    const double exact = all[static_cast<std::size_t>(share * 5000) - 1];
    EXPECT_NEAR(summary.quantileNs(share), exact, exact * 0.0625 + 0.5) << share;
  }
  halves[0].add(halves[1]);
  EXPECT_EQ(halves[0].classes(), summary.classes());
  EXPECT_EQ(halves[0].totalNs(), summary.totalNs());
  EXPECT_NEAR(halves[0].deviationNs() / summary.deviationNs(), 1, 1e-9);
  TimeSummary empty;
  empty.add(summary);
  EXPECT_EQ(empty, summary);
}

TEST(TimeSummary, NothingHasNoTimes) {
  const TimeSummary none;
  EXPECT_EQ(none.meanNs(), 0);
  EXPECT_EQ(none.deviationNs(), 0);
  EXPECT_EQ(none.quantileNs(0.5), 0);
}

TEST(TimeSummary, ContradictionsAreNotTaken) {
  TimeSummary whole;
  for (const std::int64_t time : {100, 200, 300, 1000}) whole.add(time);
  const auto taken = [&whole](std::int64_t total, std::int64_t least, std::int64_t most,
                              double squares) {
    return TimeSummary().assign(total, least, most, squares, whole.classes());
  };
  TimeSummary again;
  ASSERT_TRUE(again.assign(1600, 100, 1000, whole.squaresNs2(), whole.classes()));
  EXPECT_EQ(again, whole);
  EXPECT_FALSE(taken(160, 100, 1000, 5));
  EXPECT_FALSE(taken(16000, 100, 1000, 5));
  EXPECT_FALSE(taken(1600, 10, 1000, 5));
  EXPECT_FALSE(taken(1600, 100, 2000, 5));
  EXPECT_FALSE(taken(1600, 100, 1000, -5));
  EXPECT_FALSE(taken(1600, 100, 1000, 1e12));
  EXPECT_FALSE(TimeSummary().assign(0, 0, 0, 0, {{-1, 1}}));
  EXPECT_FALSE(TimeSummary().assign(0, 0, 0, 0, {{0, 0}}));
  EXPECT_TRUE(TimeSummary().assign(0, 0, 0, 0, {}));
}

}  // namespace
}  // namespace omnio::predict
