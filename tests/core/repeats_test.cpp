#include "core/base/repeats.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace omnio::base {
namespace {

// Tables of Student's t: 2.776445 of 4 degrees of freedom, 12.7062 of 1, two-sided 5 %.
TEST(Repeats, IntervalsByHand) {
  const Measure two = measureOf({std::exp(1.0), std::exp(3.0)});
  EXPECT_NEAR(std::log(two.middle), 2, 1e-12);
  ASSERT_TRUE(two.interval);
  // The standard error of the mean of 1 and 3 is 1.
  EXPECT_NEAR(std::log(two.interval->least), 2 - 12.7062, 1e-4);
  EXPECT_NEAR(std::log(two.interval->most), 2 + 12.7062, 1e-4);
  const Measure five = measureOf({std::exp(1), std::exp(2), std::exp(3), std::exp(4), std::exp(5)});
  EXPECT_NEAR(std::log(five.interval->most), 3 + 2.776445 * std::sqrt(2.5 / 5), 1e-6);
  EXPECT_FALSE(measureOf({4}).interval);

  // Welch: variances 2.5 / 5 and 10 / 5, so 5.8823 degrees of freedom (0.5 + 2)^2 / (0.25 / 4 + 4 /
  // 4).
  const Ratio ratio =
      ratioOf({std::exp(1), std::exp(2), std::exp(3), std::exp(4), std::exp(5)},
              {std::exp(2), std::exp(4), std::exp(6), std::exp(8), std::exp(10)}, levelOfPair(1));
  EXPECT_NEAR(std::log(ratio.middle), -3, 1e-12);
  EXPECT_NEAR(std::log(ratio.interval->most), -3 + 2.4588 * std::sqrt(2.5), 1e-3);
  EXPECT_FALSE(ratio.isFaster());
}

// The differences are -1, -2 and -3, with a standard error of 1 / sqrt(3).
TEST(Repeats, OfRoundsTheDifferencesCount) {
  const std::vector<double> first = {std::exp(1), std::exp(12), std::exp(23), 5};
  const std::vector<double> second = {std::exp(2), std::exp(14), std::exp(26)};
  const Ratio ratio = ratioByRounds(first, second, 0.05);
  EXPECT_NEAR(std::log(ratio.middle), -2, 1e-12);
  EXPECT_NEAR(std::log(ratio.interval->most), -2 + 4.302653 / std::sqrt(3), 1e-6);
  EXPECT_FALSE(ratioByRounds({1}, {2, 3}, 0.05).interval) << "one round";
  EXPECT_EQ(ratioByRounds({}, {1}, 0.05).middle, 1);
}

TEST(Repeats, EqualCountsDifferSurely) {
  EXPECT_TRUE(ratioOf({512, 512}, {2, 2}, levelOfPair(100)).isSlower());
  EXPECT_TRUE(ratioOf({0, 0}, {2, 2}, levelOfPair(100)).isFaster());
  const Ratio same = ratioOf({0, 0}, {0, 0}, levelOfPair(100));
  EXPECT_FALSE(same.isSlower() || same.isFaster());
  EXPECT_FALSE(ratioOf({5}, {2, 2}, levelOfPair(1)).interval) << "one run";
}

TEST(Repeats, ManyEqualRunsDoNotDifferByRounding) {
  for (const double value : {1000.0, 0.1, 3.0, 123456789.0}) {
    const Ratio same = ratioOf(std::vector<double>(10, value), {value, value}, levelOfPair(1));
    EXPECT_FALSE(same.isSlower() || same.isFaster()) << value;
    EXPECT_EQ(same.middle, 1) << value;
    EXPECT_EQ(measureOf(std::vector<double>(10, value)).interval->least, std::exp(std::log(value)));
  }
}

TEST(Repeats, TheMedianOfAnEvenNumberIsBetweenTwo) {
  EXPECT_EQ(medianOf({3, 1, 2}), 2);
  EXPECT_EQ(medianOf({4, 1, 2, 3}), 2.5);
}

}  // namespace
}  // namespace omnio::base
