#include "predict/access_time/curve.hpp"

#include <gtest/gtest.h>

#include <cmath>

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

// The times of two sizes differ by chance, too.
TEST(Curve, GoesOnAboveTheLargestOnlyWhereTheLastTwoClearlyDiffer) {
  Curve unclear, clear;
  for (const double more : {0.0, 4.0}) {
    unclear.add(100, 10 + more);
    unclear.add(200, 11 + more);
    clear.add(100, 10 + more);
    clear.add(200, 20 + more);
  }
  EXPECT_DOUBLE_EQ(unclear.at(10000), 13);
  EXPECT_DOUBLE_EQ(clear.at(400), 42);
  // The time of a smaller one decides then.
  for (const double more : {0.0, 4.0}) unclear.add(50, 1 + more / 4);
  EXPECT_DOUBLE_EQ(unclear.at(350), 13 + (13 - 1.5) / 150 * 150);
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

TEST(Curve, KnowsHowUncertainItsMeansAre) {
  Curve curve;
  for (const double seconds : {1, 3, 1, 3, 2}) curve.add(100, seconds);
  // The variance of the five is 4 / 4, and that of their mean a fifth of it.
  EXPECT_NEAR(curve.errorAt(100), std::sqrt(4.0 / 4 / 5), 1e-12);
  curve.add(300, 7);  // one alone
  EXPECT_DOUBLE_EQ(curve.errorAt(300), 7);
  EXPECT_DOUBLE_EQ(curve.errorAt(200), (curve.errorAt(100) + 7) / 2);
  EXPECT_DOUBLE_EQ(curve.errorAt(600), curve.at(600));
  CurvesByProcesses curves;
  for (const double processes : {1.0, 2.0}) {
    for (const double part : {0.9, 1.1}) curves.add(processes, 10, processes * part);
  }
  EXPECT_NEAR(curves.errorAt(1, 10), 0.1, 1e-12);
  EXPECT_NEAR(curves.errorAt(1.5, 10), 0.15, 1e-12);
  EXPECT_NEAR(curves.errorAt(8, 10), 0.1 * curves.at(8, 10), 1e-12);
}

// Times that even out within a batch: only the means of batches say how certain the mean is.
TEST(Curve, TakesTheErrorOfItsMeansFromBatches) {
  Curve even, uneven;
  for (const int batch : {0, 1, 2, 3}) {
    for (const double seconds : {0.0, 100.0, 0.0, 100.0}) even.add(10, seconds, batch);
    uneven.add(10, batch, batch);
    if (batch > 1) uneven.add(10, batch, batch);
  }
  EXPECT_DOUBLE_EQ(even.errorAt(10), 0);
  // Batches of 1, 1, 2 and 2 times with a mean of 11 / 6.
  const double mean = 11.0 / 6;
  const double sum = mean * mean + (1 - mean) * (1 - mean) + 4 * (2 - mean) * (2 - mean) +
                     4 * (3 - mean) * (3 - mean);
  EXPECT_NEAR(uneven.errorAt(10), std::sqrt(sum * 4 / 3) / 6, 1e-12);
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

TEST(CurvesByProcesses, KnowWhetherTheyHaveTheMeansOfOthers) {
  CurvesByProcesses whole, part;
  for (const double processes : {1.0, 2.0, 4.0}) {
    for (const double bytes : {10.0, 20.0, 30.0}) {
      whole.add(processes, bytes, 1);
      if (processes < 4 && bytes < 30) part.add(processes, bytes, 1);
    }
  }
  EXPECT_TRUE(part.hasThoseOf(whole, 1, 10));
  EXPECT_TRUE(part.hasThoseOf(whole, 1.5, 20));
  EXPECT_TRUE(part.hasThoseOf(whole, 2, 5));
  EXPECT_FALSE(part.hasThoseOf(whole, 3, 10));
  EXPECT_FALSE(part.hasThoseOf(whole, 1, 25));
  EXPECT_FALSE(part.hasThoseOf(whole, 1, 100));
  EXPECT_FALSE(part.hasThoseOf(whole, 8, 10));
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
