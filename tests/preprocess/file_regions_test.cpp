#include "preprocess/scale/steps/file_regions.hpp"

#include <gtest/gtest.h>

namespace omnio::preprocess::scale {
namespace {

// The blocks of two ranks, one after the other, of four steps of 10 bytes; with eight steps, or
// two.
FileRegions blocksOfRanks(std::int64_t scaled_bytes) {
  FileRegions regions;
  regions.add({.begin = 40, .end = 80, .last = 70, .scaled_end = 40 + scaled_bytes});
  regions.add({.begin = 0, .end = 40, .last = 30, .scaled_end = scaled_bytes});
  regions.settle();
  return regions;
}

TEST(FileRegions, BlocksMoveAsFarAsThoseBeforeThemGrow) {
  const FileRegions regions = blocksOfRanks(80);
  EXPECT_EQ(regions.shiftAt(0), 0);
  EXPECT_EQ(regions.shiftAt(39), 0);
  EXPECT_EQ(regions.shiftAt(40), 40);
}

TEST(FileRegions, BlocksMoveBackWithFewerSteps) {
  const FileRegions regions = blocksOfRanks(20);
  EXPECT_EQ(regions.shiftAt(40), -20);
  EXPECT_EQ(regions.shiftBehind(80), -40);
}

TEST(FileRegions, WhatIsBehindKeepsItsDistance) {
  const FileRegions regions = blocksOfRanks(80);
  EXPECT_EQ(regions.shiftBehind(80), 80);  // a trailer
  EXPECT_EQ(regions.shiftBehind(70), 80);  // the last step of the second rank
  EXPECT_EQ(regions.shiftBehind(30), 40);  // of the first one
  EXPECT_EQ(regions.shiftBehind(5), 0);
  EXPECT_EQ(regions.shiftBehind(4000), 0);  // far away
}

TEST(FileRegions, RanksThatTakeTurnsShareARegion) {
  FileRegions regions;
  regions.add({.begin = 0, .end = 70, .last = 60, .scaled_end = 150});
  regions.add({.begin = 10, .end = 80, .last = 70, .scaled_end = 160});
  regions.settle();
  EXPECT_EQ(regions.shiftAt(10), 0);
  EXPECT_EQ(regions.shiftBehind(80), 80);
  EXPECT_EQ(regions.shiftBehind(60), 80);
}

}  // namespace
}  // namespace omnio::preprocess::scale
