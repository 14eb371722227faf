#include "replay/run/pacing.hpp"

#include <gtest/gtest.h>

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

TEST(Pacing, LatenessIsWhatStorageDoesNotExplainAndNothingMadeUpFor) {
  struct Case {
    const char* what;
    Timing timing;
    // Of the predecessors: actual and on time, their ends, and the end of the work behind them.
    std::int64_t end_ns, on_time_end_ns;
    std::int64_t work_ns, on_time_work_ns;
    std::int64_t recorded_start_ns;
    std::int64_t start_ns;  // of the call, in the replay
    std::int64_t behind_ns;
  };
  constexpr auto kDelta = Timing::kDelta;
  constexpr auto kStart = Timing::kStart;
  const Case cases[] = {
      {"on time", kDelta, 800, 800, 900, 900, 500, 900, 0},
      {"before it was due, by the clock", kDelta, 800, 800, 900, 900, 500, 899, 0},
      {"the call before was slow", kDelta, 7000, 7000, 7100, 7100, 500, 7100, 0},
      {"not run when it was due", kDelta, 800, 800, 900, 900, 500, 1200, 300},
      {"the thread, or what it waits for, was late before", kDelta, 1100, 800, 1200, 900, 500, 1200,
       300},
      {"and it is late again", kDelta, 1100, 800, 1200, 900, 500, 1250, 350},
      {"late, but waits for one that was slow and not late", kDelta, 1500, 1500, 1500, 1500, 500,
       1500, 0},
      {"waits for one that was late, and would have been due by its own work soon", kDelta, 2000,
       1000, 2000, 1700, 500, 2000, 300},
      {"work is not told from waiting", kDelta, 900, 700, kWorkUnknown, kWorkUnknown, 500, 1300,
       200},
      {"at its recorded start", kStart, 300, 300, kWorkUnknown, kWorkUnknown, 500, 500, 0},
      {"after it, as the call before was slow", kStart, 900, 900, kWorkUnknown, kWorkUnknown, 500,
       900, 0},
      {"after it, as the thread was not run", kStart, 300, 300, kWorkUnknown, kWorkUnknown, 500,
       700, 200},
      {"after it, as the thread was late before", kStart, 900, 650, kWorkUnknown, kWorkUnknown, 500,
       900, 250},
      {"the time until the recorded start makes up for it", kStart, 900, 650, kWorkUnknown,
       kWorkUnknown, 2000, 2000, 0},
  };
  for (const Case& one : cases) {
    constexpr std::int64_t kRecordedEndNs = 100;
    const Predecessors before{kRecordedEndNs, one.end_ns, one.work_ns};
    const Predecessors on_time{kRecordedEndNs, one.on_time_end_ns, one.on_time_work_ns};
    EXPECT_EQ(behindOnTime(one.timing, before, on_time, one.recorded_start_ns, one.start_ns),
              one.behind_ns)
        << one.what;
  }
}

}  // namespace
}  // namespace omnio::replay
