#include "predict/operations/score.hpp"

#include <gtest/gtest.h>

#include "predict/operations/followed_contexts.hpp"
#include "predict/operations/operation.hpp"
#include "predict/operations/score_timeline.hpp"
#include "predict/operations/update_times.hpp"

namespace omnio::predict {
namespace {

// Dorier et al. (TPDS 2016): 100 * |S n S0| / (max(end) - min(start)), 100 if both are empty.
TEST(HitRatio, IsThatOfThePaper) {
  EXPECT_EQ(hitRatio({}, {}), 100);
  EXPECT_EQ(hitRatio({}, {.slot = 0, .begin = 0, .end = 10}), 0);
  EXPECT_EQ(hitRatio({.slot = 0, .begin = 0, .end = 10}, {}), 0);
  EXPECT_EQ(hitRatio({.slot = 1, .begin = 0, .end = 10}, {.slot = 1, .begin = 0, .end = 10}), 100);
  EXPECT_EQ(hitRatio({.slot = 1, .begin = 0, .end = 10}, {.slot = 1, .begin = 5, .end = 20}), 25);
  EXPECT_EQ(hitRatio({.slot = 1, .begin = 0, .end = 10}, {.slot = 1, .begin = 10, .end = 20}), 0);
  EXPECT_EQ(hitRatio({.slot = 1, .begin = 0, .end = 10}, {.slot = 2, .begin = 0, .end = 10}), 0);
}

// Grows up to operation 100, and again with the last ones, as programs do at their ends.
TEST(Learning, GrowthAtTheEndDoesNotCount) {
  Learning learning;
  for (std::uint64_t i = 1; i <= 1000; ++i) learning.take(i, i <= 100 ? i : (i > 990 ? i : 100));
  EXPECT_TRUE(learning.hasStopped(1000));
  EXPECT_EQ(learning.settledAt(), 100U);
}

TEST(Learning, WhatGrowsOnHasNotStopped) {
  Learning learning;
  for (std::uint64_t i = 1; i <= 1000; ++i) learning.take(i, i / 10);
  EXPECT_FALSE(learning.hasStopped(1000));
}

TEST(Learning, SecondPhaseCounts) {
  Learning learning;
  for (std::uint64_t i = 1; i <= 1000; ++i) learning.take(i, i < 10 ? i : (i < 500 ? 10 : 12));
  EXPECT_TRUE(learning.hasStopped(1000));
  EXPECT_EQ(learning.settledAt(), 500U);
}

// The score after the first period has exactly the operations that come after the last growth that
// counts, whenever those of a file come.
TEST(PhasedScore, KeepsWhatComesAfterTheFirstPeriod) {
  Learning learning;
  PhasedScore all;
  PhasedScore rare;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    learning.take(i, i <= 300 ? i : (i > 990 ? i : 300));
    const Score one{.operations = 1};
    all.add(one, learning);
    if (i % 100 == 50) rare.add(one, learning);
  }
  EXPECT_EQ(all.whole().operations, 1000U);
  EXPECT_EQ(all.settled(learning).operations, 1000U - 300 + 1);
  EXPECT_EQ(rare.whole().operations, 10U);
  EXPECT_EQ(rare.settled(learning).operations, 7U);
}

TEST(UpdateTimes, MedianIsAtMostAnEighthTooLarge) {
  UpdateTimes times;
  EXPECT_FALSE(times.median());
  for (std::uint64_t ns = 1; ns <= 1001; ++ns) times.add(ns);
  UpdateTimes more;
  more.add(std::uint64_t{1} << 60);
  times.add(more);
  EXPECT_GE(*times.median(), 501U);
  EXPECT_LE(*times.median(), 501U + 501 / 8);
}

TEST(ScoreTimeline, KeepsItsSumsWhenItWidens) {
  ScoreTimeline timeline(10);
  for (std::int64_t i = 0; i < 10'000; ++i) {
    ScoreTimeline::Bin& bin = timeline.at(i);
    bin.scores[0].hits += 1;
    bin.scores[0].hit[0] += 50;
    bin.symbols = static_cast<std::size_t>(i / 1000);
    bin.windows.add(static_cast<double>(i % 11));
  }
  ScoreTimeline other(10);
  other.at(-5).scores[0].hits = 1;  // what is before 0 counts as 0
  other.add(timeline);
  EXPECT_EQ(other.width(), 80);
  ASSERT_EQ(other.bins().size(), 10'000U / 80);
  std::uint64_t hits = 0;
  double hit = 0;
  std::uint64_t windows = 0;
  for (const ScoreTimeline::Bin& bin : other.bins()) {
    hits += bin.scores[0].hits;
    hit += bin.scores[0].hit[0];
    windows += bin.windows.count();
    EXPECT_EQ(bin.windows.least(), 0);
    EXPECT_EQ(bin.windows.most(), 10);
  }
  EXPECT_EQ(hits, 10'001U);
  EXPECT_EQ(hit, 50 * 10'000);
  EXPECT_EQ(windows, 10'000U);
  EXPECT_EQ(other.bins().front().symbols, 0U);
  EXPECT_EQ(other.bins().back().symbols, 9U);
}

TEST(FollowedContexts, CountsUntilTheFirstWrongOne) {
  FollowedContexts following;
  EXPECT_EQ(following.wanted(), 16U);
  following.begin(7, {1, 2, 3, 4});
  EXPECT_EQ(following.wanted(), 0U);
  EXPECT_FALSE(following.take(1));
  EXPECT_FALSE(following.take(2));
  const auto wrong = following.take(9);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->since, 7U);
  EXPECT_EQ(wrong->right, 2U);
  EXPECT_FALSE(following.take(1)) << "nothing is written down";
}

TEST(FollowedContexts, LooksFurtherAheadWhereAllWereRight) {
  FollowedContexts following;
  following.begin(0, std::vector<std::uint64_t>(16, 5));
  for (int i = 0; i < 15; ++i) EXPECT_FALSE(following.take(5));
  EXPECT_EQ(following.take(5)->right, 16U);
  EXPECT_EQ(following.wanted(), 32U);
  following.begin(16, {});
  EXPECT_EQ(following.take(5)->right, 0U) << "nothing was expected";
  EXPECT_EQ(following.wanted(), 16U);
  following.begin(17, {5, 5, 5});
  EXPECT_FALSE(following.take(5));
  EXPECT_EQ(following.end()->right, 1U);
  EXPECT_FALSE(following.end());
}

}  // namespace
}  // namespace omnio::predict
