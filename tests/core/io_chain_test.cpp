#include "core/order/io_chain.hpp"

#include <gtest/gtest.h>

namespace omnio::order {
namespace {

TEST(IoChain, OfOneThreadIsTheTimeInItsCalls) {
  ThreadChain thread;
  thread.call(0, 10);
  thread.call(100, 130);
  thread.ended(7);
  thread.call(200, 201);
  EXPECT_EQ(longestChain(std::vector{thread}), 41);
  EXPECT_EQ(longestChain({}), 0);
}

TEST(IoChain, CallsThatOverlapInAThreadCountOnce) {
  ThreadChain thread;
  thread.call(0, 100);
  thread.call(50, 120);
  thread.call(60, 110);
  EXPECT_EQ(longestChain(std::vector{thread}), 120);
}

TEST(IoChain, ThreadsWithoutOrderLieSideBySide) {
  std::vector<ThreadChain> threads(3);
  for (std::size_t i = 0; i < 3; ++i) threads[i].call(0, 10 + static_cast<std::int64_t>(i));
  EXPECT_EQ(longestChain(threads), 12);
}

TEST(IoChain, RanksThatWriteInTurnAddUp) {
  constexpr int kRanks = 5;
  // The last one first: each waits for the one before it.
  std::vector<ThreadChain> threads(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    ThreadChain& thread = threads[static_cast<std::size_t>(kRanks - 1 - rank)];
    if (rank > 0) thread.after(static_cast<std::uint64_t>(rank));
    thread.call(100 * rank, 100 * rank + 10);
    thread.ended(static_cast<std::uint64_t>(rank + 1));
    thread.call(1000, 1001);
  }
  EXPECT_EQ(longestChain(threads), 10 * kRanks + 1);
}

TEST(IoChain, TheLongerPathToAnEventCounts) {
  std::vector<ThreadChain> threads(3);
  threads[0].call(0, 30);
  threads[0].ended(1);
  threads[1].call(0, 50);
  threads[1].ended(2);
  threads[2].call(0, 5);
  threads[2].after(1);
  threads[2].after(2);
  threads[2].call(60, 64);
  EXPECT_EQ(longestChain(threads), 54);
}

TEST(IoChain, AMeetingBeginsWhenTheLastHasCome) {
  std::vector<ThreadChain> threads(2);
  threads[0].call(0, 10);
  threads[0].met(0, 0, 20, 100);  // waits until 60
  threads[1].call(0, 25);
  threads[1].met(0, 0, 60, 95);
  threads[1].call(95, 96);
  // 25 by the second, then 40 by the first, or 35 and 1 by the second.
  EXPECT_EQ(longestChain(threads), 65);
}

TEST(IoChain, WhoeverLeavesAMeetingEarlyHasNotWaited) {
  std::vector<ThreadChain> threads(2);
  threads[0].met(0, 0, 0, 5);
  threads[0].call(5, 105);
  threads[1].call(0, 50);
  threads[1].met(0, 0, 50, 60);
  EXPECT_EQ(longestChain(threads), 105);
}

TEST(IoChain, MeetingsOfGroupsAreOnesOfTheirOwn) {
  std::vector<ThreadChain> threads(2);
  threads[0].met(0, 0, 0, 10);
  threads[0].met(0, 1, 10, 30);
  threads[0].met(1, 0, 30, 31);
  threads[1].met(0, 0, 0, 10);
  threads[1].met(0, 1, 20, 30);
  threads[1].met(2, 0, 30, 35);
  EXPECT_EQ(longestChain(threads), 25);
}

TEST(IoChain, WhatIsMissingIsNotWaitedFor) {
  std::vector<ThreadChain> threads(2);
  threads[0].after(99);
  threads[0].call(0, 10);
  threads[0].met(3, 0, 10, 20);  // alone
  threads[1].call(0, 3);
  EXPECT_EQ(longestChain(threads), 20);
}

TEST(IoChain, ACircleEnds) {
  std::vector<ThreadChain> threads(2);
  threads[0].after(2);
  threads[0].call(0, 10);
  threads[0].ended(1);
  threads[1].after(1);
  threads[1].call(0, 10);
  threads[1].ended(2);
  // The first is taken to go on, and the second comes after it.
  EXPECT_EQ(longestChain(threads), 20);
}

TEST(IoChain, WordsOfAThreadAreAllOfIt) {
  std::vector<ThreadChain> threads(2);
  threads[0].call(0, 10);
  threads[0].ended(1);
  threads[0].met(1, 2, 10, 15);
  threads[0].call(20, 21);
  threads[1].after(1);
  threads[1].call(30, 40);
  threads[1].met(1, 2, 40, 45);
  const std::int64_t longest = longestChain(threads);
  EXPECT_EQ(longest, 10 + 10 + 5);
  std::vector<ThreadChain> again;
  for (const ThreadChain& thread : threads) again.push_back(ThreadChain::ofWords(thread.words()));
  EXPECT_EQ(longestChain(again), longest);
}

TEST(IoChain, OfMoreStepsThanFitIsNotKnown) {
  constexpr std::size_t kMost = 4;  // two steps
  ThreadChain chain(kMost);
  for (std::uint64_t step = 0; step < 2; ++step) chain.after(step);
  EXPECT_TRUE(chain.isWhole());
  chain.met(0, 0, 1, 2);
  chain.ended(7);
  EXPECT_FALSE(chain.isWhole());
  EXPECT_LE(chain.words().size(), kMost + 1);
}

}  // namespace
}  // namespace omnio::order
