#include "predict/operations/score.hpp"

#include <gtest/gtest.h>

#include "predict/operations/hit_timeline.hpp"
#include "predict/operations/operation.hpp"
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

TEST(HitTimeline, KeepsItsSumsWhenItWidens) {
  HitTimeline timeline;
  std::array<Score, kWays> one{};
  one[0].hits = 1;
  one[0].hit[0] = 50;
  for (std::int64_t i = 0; i < 1000; ++i) timeline.add(i * 100'000, one);
  HitTimeline other;
  other.add(5, one);
  other.add(timeline);
  EXPECT_LE(other.bins().size(), HitTimeline::kMostBins);
  std::uint64_t hits = 0;
  double hit = 0;
  for (const auto& bin : other.bins()) {
    hits += bin.hits[0];
    hit += bin.hit[0];
  }
  EXPECT_EQ(hits, 1001U);
  EXPECT_EQ(hit, 50 * 1001);
}

}  // namespace
}  // namespace omnio::predict
