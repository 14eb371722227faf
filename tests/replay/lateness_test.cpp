#include <gtest/gtest.h>

#include "replay/report.hpp"

namespace omnio::replay {
namespace {

TEST(Lateness, NothingLateIsZero) {
  const Lateness none;
  EXPECT_EQ(none.max(), 0);
  EXPECT_EQ(none.mean(), 0);
  EXPECT_EQ(none.percentile(0.99), 0);
}

TEST(Lateness, APercentileIsAtMostAnEighthTooLarge) {
  Lateness late;
  for (std::int64_t i = 1; i <= 100000; ++i) late.add(i);
  EXPECT_EQ(late.max(), 100000);
  EXPECT_DOUBLE_EQ(late.mean(), 50000.5);
  for (const double share : {0.01, 0.5, 0.9, 0.99}) {
    const double exact = share * 100000;
    EXPECT_GE(static_cast<double>(late.percentile(share)), exact) << share;
    EXPECT_LE(static_cast<double>(late.percentile(share)), exact * 1.125 + 1) << share;
  }
  EXPECT_EQ(late.percentile(1), 100000);
}

TEST(Lateness, EarlyCountsAsOnTime) {
  Lateness late;
  late.add(-50);
  EXPECT_EQ(late.count(), 1U);
  EXPECT_EQ(late.max(), 0);
  EXPECT_EQ(late.mean(), 0);
}

TEST(Lateness, MergingIsAsIfAllWereAddedToOne) {
  Lateness both;
  Lateness a;
  Lateness b;
  for (std::int64_t i = 0; i < 1000; ++i) {
    (i % 3 == 0 ? a : b).add(i * i);
    both.add(i * i);
  }
  a.merge(b);
  EXPECT_EQ(a.max(), both.max());
  EXPECT_EQ(a.percentile(0.9), both.percentile(0.9));
  EXPECT_DOUBLE_EQ(a.mean(), both.mean());
}

TEST(Lateness, TheLargestNumberHasAPlace) {
  Lateness late;
  late.add(INT64_MAX);
  EXPECT_EQ(late.percentile(0.5), INT64_MAX);
}

// Rank 0 was late by 2 s and ended early; rank 1, which ended last, was late by half a second.
TEST(Stretch, IsThatOfTheRunAndWhereRanksMeetThatOfTheLatestRank) {
  Report report;
  report.makespan_ns = 10'000'000'000;
  for (const auto& [end_ns, on_time_end_ns] :
       {std::pair(8'000'000'000, 6'000'000'000), std::pair(10'000'000'000, 9'500'000'000)}) {
    report.ranks.emplace_back().end_ns = end_ns;
    report.ranks.back().on_time_end_ns = on_time_end_ns;
  }
  struct Case {
    model::Timing timing;
    bool ranks_meet;
    double limit;
    std::optional<std::int64_t> stretch_ns;
    bool is_late;
  };
  constexpr std::int64_t kHalf = 500'000'000;
  for (const Case& one : {Case{model::Timing::kDelta, false, 0.05, kHalf, false},
                          Case{model::Timing::kStart, false, 0.04, kHalf, true},
                          Case{model::Timing::kDelta, true, 0.05, 4 * kHalf, true},
                          Case{model::Timing::kDelta, true, 0.20, 4 * kHalf, false},
                          Case{model::Timing::kAsap, true, 0, std::nullopt, false}}) {
    report.timing = one.timing;
    report.ranks_meet = one.ranks_meet;
    report.late_limit = one.limit;
    EXPECT_EQ(report.stretchNs(), one.stretch_ns);
    EXPECT_EQ(report.isLate(), one.is_late);
  }
  EXPECT_EQ(
      lateSentence("/out", 4 * kHalf, report.makespan_ns, 0.05),
      "/out: the replayer itself was late: 2.000 s of the makespan of 10.000 s (20.0 %) is its "
      "own, more than --late-limit 5%, so the time says nothing of the storage; use more "
      "processors for each thread, --wait block, or fewer ranks a node; where calls take less "
      "than a microsecond, compare the I/O time");
}

}  // namespace
}  // namespace omnio::replay
