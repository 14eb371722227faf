#include "statistics/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace omnio::stats {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

Histogram of(const std::vector<std::uint64_t>& values) {
  Histogram histogram;
  for (const std::uint64_t value : values) histogram.add(value);
  return histogram;
}

TEST(Histogram, WithoutValuesHasNoBinsAndQuantilesOfZero) {
  EXPECT_TRUE(Histogram().powersOfTwo().empty());
  EXPECT_EQ(Histogram().quantile(0.5), 0U);
}

TEST(Histogram, CountsByPowersOfTwo) {
  const std::vector<Histogram::Bin> bins = {
      {0, 0, 2}, {1, 1, 1}, {2, 3, 2}, {4096, 8191, 3}, {std::uint64_t{1} << 63, kMost, 1}};
  EXPECT_EQ(of({4096, 0, 3, 8191, 1, kMost, 2, 0, 5000}).powersOfTwo(), bins);
}

TEST(Histogram, QuantilesAreAtMostAnEighthAboveTheValue) {
  std::mt19937_64 random(1);  // NOLINT: the same values each time
  std::vector<std::uint64_t> values(10'000);
  for (std::uint64_t& value : values) value = random() >> (random() % 64);
  const Histogram histogram = of(values);
  std::ranges::sort(values);
  for (const double part : {0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const std::uint64_t exact =
        values[static_cast<std::size_t>(part * static_cast<double>(values.size())) - 1];
    const std::uint64_t found = histogram.quantile(part);
    EXPECT_GE(found, exact) << part;
    EXPECT_LE(found - exact, exact / 8) << part;
  }
}

TEST(Histogram, SmallValuesAreExact) {
  const Histogram histogram = of({1, 2, 3, 4, 5, 6, 7, 7});
  for (std::uint64_t value = 1; value <= 7; ++value) {
    EXPECT_EQ(histogram.quantile(static_cast<double>(value) / 8), value);
  }
}

TEST(Histogram, TheSumOfTwoIsThatOfAllValues) {
  Histogram sum = of({1, 100, 100'000});
  sum.add(of({100, 7}));
  EXPECT_EQ(sum.powersOfTwo(), of({100, 7, 1, 100, 100'000}).powersOfTwo());
}

}  // namespace
}  // namespace omnio::stats
