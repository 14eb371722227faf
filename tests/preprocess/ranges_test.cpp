// Ranges of bytes, and who waits for whom because of them.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "preprocess/dependencies.hpp"
#include "preprocess/size_scale.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::preprocess {
namespace {

TEST(IntervalSet, AgreesWithABitForEachByte) {
  std::mt19937 random(7);
  IntervalSet set;
  std::vector<bool> covered(300, false);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t begin = random() % 300;
    const std::uint64_t end = std::min<std::uint64_t>(begin + random() % 12, 300);
    if (i % 3 == 0) {
      set.add({begin, end});
      for (std::uint64_t at = begin; at < end; ++at) covered[at] = true;
    }
    if (i % 97 == 96) {
      set.cut(begin);
      for (std::uint64_t at = begin; at < 300; ++at) covered[at] = false;
    }
    std::uint64_t wanted = 0;
    for (std::uint64_t at = begin; at < end; ++at) {
      if (!covered[at]) wanted = at + 1;
    }
    ASSERT_EQ(set.lastUncovered({begin, end}), wanted) << i;
  }
}

TEST(IntervalSet, KeepsWithinItsBound) {
  IntervalSet set(8);
  for (std::uint64_t i = 0; i < 1000; ++i) set.add({i * 10, i * 10 + 1});
  EXPECT_EQ(set.end(), 9991U);
  EXPECT_EQ(set.lastUncovered({20000, 20001}), 20001U);
  // Gaps may have been taken for covered; what was covered still is.
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(set.lastUncovered({i * 10, i * 10 + 1}), 0U);
  }
}

PastEvent past(std::uint32_t thread, std::uint64_t sequence, std::int64_t end_ns) {
  return {{thread, sequence}, 0, end_ns};
}

TEST(Dependencies, OneEdgeStandsForAllThatCameBefore) {
  Dependencies dependencies;
  dependencies.require({{1, 5}, 100}, past(0, 7, 90));
  EXPECT_EQ(dependencies.edges(), 1U);
  dependencies.require({{1, 6}, 110}, past(0, 3, 50));  // implied by the first
  EXPECT_EQ(dependencies.edges(), 1U);
  dependencies.require({{1, 7}, 120}, past(0, 8, 119));
  EXPECT_EQ(dependencies.edges(), 2U);
  EXPECT_NE(dependencies.idOf({0, 7}), 0U);
  EXPECT_EQ(dependencies.idOf({0, 3}), 0U);
  EXPECT_EQ(dependencies.before({1, 5}), std::vector<model::Wait>{{dependencies.idOf({0, 7})}});
  EXPECT_TRUE(dependencies.before({1, 6}).empty());
}

TEST(Dependencies, WhatRanAtTheSameTimeGetsNone) {
  Dependencies dependencies;
  dependencies.require({{1, 5}, 100}, past(0, 7, 101));
  dependencies.require({{0, 8}, 100}, past(0, 7, 90));  // the thread's own order does it
  EXPECT_EQ(dependencies.edges(), 0U);
}

TEST(DataConflicts, AReadWaitsForTheLastWriteOfItsBytes) {
  Dependencies dependencies;
  DataConflicts conflicts(dependencies);
  conflicts.wrote(0, {0, 100}, past(0, 1, 10));
  conflicts.wrote(0, {500, 600}, past(0, 2, 20));
  conflicts.wrote(1, {0, 100}, past(0, 3, 30));
  conflicts.reads(0, {100, 500}, {{1, 0}, 40});  // between them
  EXPECT_EQ(dependencies.edges(), 0U);
  conflicts.reads(0, {90, 110}, {{1, 1}, 50});
  EXPECT_NE(dependencies.idOf({0, 1}), 0U);
  conflicts.reads(0, {550, 551}, {{1, 2}, 60});
  EXPECT_NE(dependencies.idOf({0, 2}), 0U);
  EXPECT_EQ(dependencies.idOf({0, 3}), 0U);
}

TEST(DataConflicts, WhileTheLastWriteIsUnderWayTheOneBeforeCounts) {
  Dependencies dependencies;
  DataConflicts conflicts(dependencies);
  conflicts.wrote(0, {0, 100}, past(0, 1, 10));
  conflicts.wrote(0, {100, 200}, past(0, 2, 1000));
  conflicts.reads(0, {0, 10}, {{1, 0}, 500});
  EXPECT_EQ(dependencies.before({1, 0}), std::vector<model::Wait>{{dependencies.idOf({0, 1})}});
}

TEST(DataConflicts, ManyPlacesNeverLetAReadRunAhead) {
  Dependencies dependencies;
  DataConflicts conflicts(dependencies);
  for (std::uint64_t i = 0; i < 500; ++i) {
    conflicts.wrote(0, {i * 100, i * 100 + 10}, past(0, i, static_cast<std::int64_t>(i) * 10 + 5));
  }
  conflicts.reads(0, {25000, 25001}, {{1, 0}, 100000});
  ASSERT_EQ(dependencies.before({1, 0}).size(), 1U);
  std::uint64_t waited = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    if (dependencies.idOf({0, i}) != 0) waited = i;
  }
  EXPECT_GE(waited, 250U);
}

TEST(SizeScale, KeepsOrderTouchAndAlignment) {
  for (const double factor : {0.3, 0.5, 1.0, 1.7, 2.0, 1000.0}) {
    const SizeScale scale(factor);
    std::uint64_t last = 0;
    for (std::uint64_t at = 0; at < 40000; at += 7) {
      ASSERT_GE(scale.position(at, true), last) << factor << " at " << at;
      last = scale.position(at, true);
    }
    for (std::uint64_t at = 0; at < 40000; at += 4096) {
      ASSERT_EQ(scale.position(at, true) % 4096, 0U);
    }
    EXPECT_NEAR(static_cast<double>(scale.position(1U << 30)), factor * (1U << 30), 1.0);
  }
}

model::ScheduleEvent scaledWrite(double factor, std::int64_t offset, bool aligned) {
  model::ScheduleEvent event;
  event.row = &calls::kTable[test::numberOf("pwrite64")];
  const auto argument = [&event](calls::Role role) -> std::int64_t& {
    return event.arguments[static_cast<std::size_t>(calls::indexOf(*event.row, role))];
  };
  argument(calls::Role::kSize) = 512;
  argument(calls::Role::kOffset) = event.offset = offset;
  event.request = 512;
  event.result = 512;
  SizeScale(factor).apply(event, aligned);
  EXPECT_EQ(argument(calls::Role::kSize), event.result) << factor << " at " << offset;
  return event;
}

TEST(SizeScale, AResultIsNeverMoreThanWhatIsAskedFor) {
  for (const double factor : {0.1, 0.25, 0.5, 0.9, 1.37}) {
    for (std::int64_t offset = 0; offset < 16384; offset += 512) {
      scaledWrite(factor, offset, true);
      scaledWrite(factor, offset, false);
    }
  }
  EXPECT_EQ(scaledWrite(0.5, 512, false).result, 256);
}

TEST(SizeScale, RangesOfLocksStay) {
  model::ScheduleEvent event;
  event.row = &calls::kTable[test::numberOf("(fcntl_lock)")];
  const auto argument = [&event](calls::Role role) -> std::int64_t& {
    return event.arguments[static_cast<std::size_t>(calls::indexOf(*event.row, role))];
  };
  argument(calls::Role::kOffset) = 100;
  argument(calls::Role::kLength) = 1;
  SizeScale(0.5).apply(event, false);
  EXPECT_EQ(argument(calls::Role::kOffset), 100);
  EXPECT_EQ(argument(calls::Role::kLength), 1);
}

TEST(SizeScale, MinusOneStaysThePosition) {
  model::ScheduleEvent event;
  event.row = &calls::kTable[test::numberOf("copy_file_range")];
  const auto argument = [&event](calls::Role role) -> std::int64_t& {
    return event.arguments[static_cast<std::size_t>(calls::indexOf(*event.row, role))];
  };
  argument(calls::Role::kSourceOffset) = argument(calls::Role::kOffset) = -1;
  SizeScale(3).apply(event, false);
  EXPECT_EQ(argument(calls::Role::kOffset), -1);
  EXPECT_EQ(argument(calls::Role::kSourceOffset), -1);
  argument(calls::Role::kSourceOffset) = argument(calls::Role::kOffset) = 40;
  SizeScale(3).apply(event, false);
  EXPECT_EQ(argument(calls::Role::kOffset), 120);
  EXPECT_EQ(argument(calls::Role::kSourceOffset), 120);
  event.row = &calls::kTable[test::numberOf("lseek")];
  argument(calls::Role::kOffset) = -10;  // back from the position
  SizeScale(3).apply(event, false);
  EXPECT_EQ(argument(calls::Role::kOffset), -30);
}

}  // namespace
}  // namespace omnio::preprocess
