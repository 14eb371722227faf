#include "core/pattern/rank_function.hpp"

#include <gtest/gtest.h>

namespace omnio::pattern {
namespace {

std::vector<std::pair<int, std::int64_t>> ofRanks(const std::vector<std::int64_t>& numbers) {
  std::vector<std::pair<int, std::int64_t>> result;
  for (const std::int64_t number : numbers) {
    result.emplace_back(static_cast<int>(result.size()), number);
  }
  return result;
}

TEST(RankFunction, IsAffineWhereItCanBe) {
  const auto f = fitRanks({{1, 50}, {3, 90}, {4, 110}});
  ASSERT_TRUE(f);
  EXPECT_EQ(*f, (RankFunction{.base = 30, .per_rank = 20, .grid = {}}));
}

TEST(RankFunction, RanksOfAGridHaveADistanceForEachDimension) {
  const auto f = fitRanks(ofRanks({7, 17, 27, 1007, 1017, 1027}));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->grid, (std::vector<Dimension>{{3, 10}, {2, 1000}}));
  EXPECT_EQ(f->at(5), 1027);
  EXPECT_EQ(f->at(6), 2007);  // of a grid that goes on
}

TEST(RankFunction, TwoByTwoByTwoIsAGrid) {
  const auto f = fitRanks(ofRanks({0, 1, 10, 11, 500, 501, 510, 511}));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->grid, (std::vector<Dimension>{{2, 1}, {2, 10}, {2, 500}}));
}

TEST(RankFunction, OthersAreNone) {
  EXPECT_FALSE(fitRanks(ofRanks({0, 10, 30})));
  EXPECT_FALSE(fitRanks(ofRanks({0, 10, 30, 35, 90})));
  EXPECT_FALSE(fitRanks({{1, 0}, {2, 10}, {3, 100}, {4, 110}}));  // ranks that do not begin at 0
}

}  // namespace
}  // namespace omnio::pattern
