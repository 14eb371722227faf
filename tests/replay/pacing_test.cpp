#include <gtest/gtest.h>

#include "replay/run/engine.hpp"

namespace omnio::replay {
namespace {

using model::Timing;

TEST(Pacing, AsapIsDueWhenWhatItFollowsHasEnded) {
  EXPECT_EQ(dueOf(Timing::kAsap, {.recorded_end_ns = 100, .actual_end_ns = 70}, 500).at_ns, 70);
}

TEST(Pacing, StartIsDueAtItsRecordedTimeHoweverLateTheOthersAre) {
  EXPECT_EQ(dueOf(Timing::kStart, {.recorded_end_ns = 100, .actual_end_ns = 900}, 500).at_ns, 500);
}

TEST(Pacing, DeltaKeepsTheGapBehindTheActualEnd) {
  const Due due = dueOf(Timing::kDelta, {.recorded_end_ns = 100, .actual_end_ns = 900}, 500);
  EXPECT_EQ(due.at_ns, 900 + 400);
  EXPECT_FALSE(due.gap_was_negative);
}

TEST(Pacing, DeltaOfAThreadsFirstOperationCountsFromTheBeginning) {
  EXPECT_EQ(dueOf(Timing::kDelta, {}, 500).at_ns, 500);
}

TEST(Pacing, ANegativeGapStartsAtOnceAndIsTold) {
  const Due due = dueOf(Timing::kDelta, {.recorded_end_ns = 600, .actual_end_ns = 900}, 500);
  EXPECT_EQ(due.at_ns, 900);
  EXPECT_TRUE(due.gap_was_negative);
}

TEST(Pacing, TheRecordersOwnTimeIsNoThinkTime) {
  EXPECT_EQ(behindRecorder(100, 500, 30), 130);
  // Measured on average: it never makes a gap negative, nor smaller than none.
  EXPECT_EQ(behindRecorder(100, 110, 30), 110);
  EXPECT_EQ(behindRecorder(100, 100, 30), 100);
  EXPECT_EQ(behindRecorder(100, 90, 30), 100);
  const Predecessors before{.recorded_end_ns = behindRecorder(100, 500, 30), .actual_end_ns = 900};
  EXPECT_EQ(dueOf(Timing::kDelta, before, 500).at_ns, 900 + 370);
}

TEST(Pacing, ADelayTakesItsTimeInEveryMode) {
  const Predecessors before{.recorded_end_ns = 100, .actual_end_ns = 900};
  EXPECT_EQ(delayEnd(Timing::kAsap, before, 150, 300), 1050);
  EXPECT_EQ(delayEnd(Timing::kDelta, before, 150, 300), 1100);
  EXPECT_EQ(delayEnd(Timing::kStart, before, 150, 300), 900);
  EXPECT_EQ(delayEnd(Timing::kStart, before, 150, 2000), 2000);
}

TEST(Pacing, WhereWorkIsKnownItDecidesAndWaitingDoesNot) {
  const Predecessors before{.recorded_end_ns = 100, .actual_end_ns = 900, .work_done_ns = 940};
  EXPECT_EQ(dueOf(Timing::kDelta, before, 5000).at_ns, 940);
  EXPECT_EQ(dueOf(Timing::kAsap, before, 5000).at_ns, 900);
  EXPECT_EQ(dueOf(Timing::kStart, before, 5000).at_ns, 5000);
}

TEST(Pacing, ADelayComesBehindTheWorkAndHasADurationOfItsOwn) {
  const Predecessors before{.recorded_end_ns = 100, .actual_end_ns = 900, .work_done_ns = 940};
  EXPECT_EQ(delayEnd(Timing::kDelta, before, 150, 170), 960);
  EXPECT_EQ(delayEnd(Timing::kAsap, before, 150, 170), 920);
  EXPECT_EQ(delayEnd(Timing::kStart, before, 150, 170), 900);
}

TEST(Pacing, WhatACallBeginsLateIsPaidByTheNextThinkTime) {
  constexpr bool kHadTime = true;
  EXPECT_EQ(owedBehind(0, 700, !kHadTime), 700);
  EXPECT_EQ(owedBehind(700, 1400, !kHadTime), 1400);  // adds up over calls without think time
  EXPECT_EQ(owedBehind(1400, 900, !kHadTime), 900);   // a part was paid
  EXPECT_EQ(owedBehind(900, 0, kHadTime), 0);
  EXPECT_EQ(owedBehind(900, -3, kHadTime), 0);
}

TEST(Pacing, AProcessThatWasStoppedDoesNotMakeUpForIt) {
  constexpr bool kHadTime = true;
  EXPECT_EQ(owedBehind(0, 50 * kMostOwedForACall, !kHadTime), kMostOwedForACall);
  EXPECT_EQ(owedBehind(900, 50 * kMostOwedForACall, !kHadTime), 900 + kMostOwedForACall);
  EXPECT_EQ(owedBehind(900, 50 * kMostOwedForACall, kHadTime), kMostOwedForACall);
}

}  // namespace
}  // namespace omnio::replay
