#include "core/pattern/number_series.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>

namespace omnio::pattern {
namespace {

NumberSeries seriesOf(std::initializer_list<std::int64_t> values) {
  NumberSeries series;
  for (const std::int64_t value : values) series.add(value);
  series.settle();
  return series;
}

TEST(NumberSeries, ConstantStepsGoOn) {
  const NumberSeries series = seriesOf({100, 150, 200});
  ASSERT_TRUE(series.hasRule());
  EXPECT_EQ(series.at(1), 150);
  EXPECT_EQ(series.at(10), 600);
  EXPECT_FALSE(series.isConstant());
  EXPECT_TRUE(seriesOf({7, 7, 7}).isConstant());
}

TEST(NumberSeries, PeriodsGoOnWithTheirGrowth) {
  // Three short lines and a long one.
  const NumberSeries series = seriesOf({0, 2, 4, 6, 10, 12, 14, 16, 20, 22, 24, 26});
  ASSERT_TRUE(series.hasRule());
  EXPECT_EQ(series.period(), 4U);
  EXPECT_EQ(series.at(12), 30);
  EXPECT_EQ(series.at(15), 36);
  EXPECT_EQ(series.at(40), 100);
}

TEST(NumberSeries, FirstTurnsMayDiffer) {
  const NumberSeries series = seriesOf({99, 5, 6, 7, 8});
  ASSERT_TRUE(series.hasRule());
  EXPECT_EQ(series.at(0), 99);
  EXPECT_EQ(series.at(5), 9);
}

TEST(NumberSeries, TwoPeriodsAloneAreNoRule) {
  EXPECT_FALSE(seriesOf({0, 3, 10, 13}).hasRule());
  EXPECT_FALSE(seriesOf({3, 1, 4, 1, 5, 9, 2, 6}).hasRule());
}

TEST(NumberSeries, PeriodsMayBeLong) {
  // Each value is that of `kPeriod` turns before and 7.
  constexpr std::uint64_t kPeriod = 10'007;
  const auto value = [](std::uint64_t turn) {
    const std::uint64_t in_period = turn % kPeriod;
    return static_cast<std::int64_t>(in_period * in_period + turn / kPeriod * 7);
  };
  NumberSeries series;
  for (std::uint64_t turn = 0; turn < 3 * kPeriod; ++turn) series.add(value(turn));
  series.settle();
  ASSERT_TRUE(series.hasRule());
  for (std::uint64_t turn = 3 * kPeriod; turn < 4 * kPeriod; ++turn) {
    EXPECT_EQ(series.at(turn), value(turn));
  }
}

TEST(PeriodOf, IsTheShortestThatHoldsInAllValues) {
  const auto of = [](std::vector<std::uint64_t> values) { return periodOf(values); };
  EXPECT_EQ(of({}), 0U);
  EXPECT_EQ(of({5}), 0U);
  EXPECT_EQ(of({5, 5}), 1U);
  EXPECT_EQ(of({1, 2, 1, 2, 1}), 2U);
  EXPECT_EQ(of({1, 2, 1, 2, 2}), 0U);
  EXPECT_EQ(of({1, 1, 2, 1, 1, 2, 1}), 3U);
  EXPECT_EQ(of({1, 2, 3, 4, 1, 2}), 0U);  // not twice
}

TEST(NumberSeries, SumsWrapAround) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const NumberSeries series = seriesOf({kMost - 1, kMost});
  EXPECT_EQ(series.at(2), std::numeric_limits<std::int64_t>::min());
}

}  // namespace
}  // namespace omnio::pattern
