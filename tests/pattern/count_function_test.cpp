#include "core/pattern/count_function.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace omnio::pattern {
namespace {

// The values of ranks from `first` to `last` at a number of ranks.
RankValues valuesOf(std::int64_t count, std::int64_t first, std::int64_t last,
                    const std::function<std::int64_t(std::int64_t)>& value) {
  RankValues values{.count = count, .first = first, .values = {}};
  for (std::int64_t rank = first; rank <= last; ++rank) values.values.push_back(value(rank));
  return values;
}

TEST(CountFunction, RanksThatTakeTurnsAreAStrideOfAllApart) {
  // The third turn of blocks of 10 behind a header of 7.
  const std::vector<RankValues> values = {
      valuesOf(4, 0, 3, [](std::int64_t rank) { return 7 + (2 * 4 + rank) * 10; }),
      valuesOf(16, 0, 15, [](std::int64_t rank) { return 7 + (2 * 16 + rank) * 10; })};
  const auto fitted = fitRanksAndCounts(values, Scaling::kWeak);
  ASSERT_TRUE(fitted.has_value());
  EXPECT_EQ(fitted->at(5, 64), 7 + (2 * 64 + 5) * 10);
}

TEST(CountFunction, PartsOfATotalShrinkWithStrongScaling) {
  const std::vector<RankValues> values = {
      valuesOf(4, 0, 3, [](std::int64_t rank) { return rank * 64; }),
      valuesOf(16, 0, 15, [](std::int64_t rank) { return rank * 16; })};
  const auto fitted = fitRanksAndCounts(values, Scaling::kStrong);
  ASSERT_TRUE(fitted.has_value());
  EXPECT_EQ(fitted->at(3, 64), 12);
  EXPECT_EQ(fitted->at(3, 7), std::nullopt);  // 256 bytes are not seven parts
}

TEST(CountFunction, OneRankTakesItsStepFromTheOtherCount) {
  const std::vector<RankValues> values = {
      valuesOf(4, 2, 2, [](std::int64_t rank) { return rank * 10; }),
      valuesOf(16, 2, 14, [](std::int64_t rank) { return rank * 10; })};
  const auto fitted = fitRanksAndCounts(values, Scaling::kWeak);
  ASSERT_TRUE(fitted.has_value());
  EXPECT_EQ(fitted->at(40, 64), 400);
}

TEST(CountFunction, GridsAreNotAffine) {
  const auto at = [](std::int64_t rank) { return rank / 4 * 100 + rank % 4; };
  const std::vector<RankValues> values = {valuesOf(4, 0, 3, at), valuesOf(16, 0, 15, at)};
  EXPECT_EQ(fitRanksAndCounts(values, Scaling::kWeak), std::nullopt);
}

TEST(CountFunction, PartsOfOneAreNotAffine) {
  const std::vector<std::int64_t> counts = {4, 16};
  EXPECT_EQ(fitCounts(counts, std::vector<std::int64_t>{1, 2}, Scaling::kWeak), std::nullopt);
}

}  // namespace
}  // namespace omnio::pattern
