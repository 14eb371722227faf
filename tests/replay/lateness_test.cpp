#include <gtest/gtest.h>

#include "replay/run/engine.hpp"

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

}  // namespace
}  // namespace omnio::replay
