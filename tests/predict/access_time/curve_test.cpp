#include "predict/access_time/curve.hpp"

#include <gtest/gtest.h>

namespace omnio::access_time {
namespace {

TEST(Curve, GoesThroughTheMeansAndStraightBetweenThem) {
  Curve curve;
  curve.add(100, 1);
  curve.add(100, 3);
  curve.add(300, 6);
  EXPECT_DOUBLE_EQ(curve.at(100), 2);
  EXPECT_DOUBLE_EQ(curve.at(200), 4);
  EXPECT_DOUBLE_EQ(curve.at(300), 6);
}

TEST(Curve, StaysBelowTheSmallestAndGoesOnAboveTheLargest) {
  Curve curve;
  curve.add(100, 2);
  curve.add(300, 6);
  EXPECT_DOUBLE_EQ(curve.at(1), 2);
  EXPECT_DOUBLE_EQ(curve.at(500), 10);
  curve.add(400, 5);  // no size takes less time than a smaller one beyond what was measured
  EXPECT_DOUBLE_EQ(curve.at(1000), 5);
}

TEST(Curve, OfOneSizeGrowsWithTheBytes) {
  Curve curve;
  curve.add(1 << 20, 2);
  EXPECT_DOUBLE_EQ(curve.at(10), 2);
  EXPECT_DOUBLE_EQ(curve.at(3 << 20), 6);
  // One byte takes as long as a page does, and a MiB not a million times as long.
  Curve of_one_byte;
  of_one_byte.add(1, 2);
  EXPECT_DOUBLE_EQ(of_one_byte.at(4096), 2);
  EXPECT_DOUBLE_EQ(of_one_byte.at(1 << 20), 32);
}

TEST(CurvesByProcesses, AreStraightBetweenNumbersOfProcesses) {
  CurvesByProcesses curves;
  for (const double bytes : {10.0, 20.0}) {
    curves.add(1, bytes, bytes);
    curves.add(4, bytes, 4 * bytes);
  }
  EXPECT_DOUBLE_EQ(curves.at(1, 10), 10);
  EXPECT_DOUBLE_EQ(curves.at(2, 10), 20);
  EXPECT_DOUBLE_EQ(curves.at(4, 20), 80);
  EXPECT_DOUBLE_EQ(curves.at(8, 20), 160);
}

TEST(CurvesByProcesses, CoverWhatLiesBetweenMeasuredNumbers) {
  CurvesByProcesses curves;
  EXPECT_FALSE(curves.covers(1, 10));
  curves.add(1, 10, 1);
  curves.add(1, 100, 1);
  curves.add(4, 10, 1);
  curves.add(4, 50, 1);
  EXPECT_TRUE(curves.covers(1, 100));
  EXPECT_TRUE(curves.covers(2.5, 50));
  EXPECT_FALSE(curves.covers(2.5, 60));
  EXPECT_FALSE(curves.covers(1, 9));
  EXPECT_FALSE(curves.covers(5, 20));
}

}  // namespace
}  // namespace omnio::access_time
