#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "trace/runtime/mpi/objects.hpp"

namespace omnio::trace {
namespace {

// Streams stay for the life of the process: each test has a group of its own.
std::uint64_t newGroup() {
  static std::uint64_t last = 0x5EED;
  return ++last;
}

TEST(MessageStreams, CountEachOnItsOwn) {
  const std::uint64_t group = newGroup();
  const Stream out{.group = group, .peer = 1, .tag = 7};
  EXPECT_EQ(countOf(out), 0U);
  EXPECT_EQ(countIn(out), 1U);
  EXPECT_EQ(countIn(out), 2U);
  EXPECT_EQ(countOf(out), 2U);
  EXPECT_EQ(countIn({.group = group, .peer = 1, .tag = 7, .way = Way::kIn}), 1U);
  EXPECT_EQ(countIn({.group = group, .peer = 2, .tag = 7}), 1U);
  EXPECT_EQ(countIn({.group = group, .peer = 1, .tag = 8}), 1U);
  EXPECT_EQ(countIn({.group = newGroup(), .peer = 1, .tag = 7}), 1U);
  EXPECT_EQ(countIn(out), 3U);
}

TEST(MessageStreams, AreCountedByThreadsAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kTags = 300;
  constexpr int kTurns = 50;
  const std::uint64_t group = newGroup();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([group] {
      for (int turn = 0; turn < kTurns; ++turn) {
        for (int tag = 0; tag < kTags; ++tag) countIn({.group = group, .peer = 3, .tag = tag});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int tag = 0; tag < kTags; ++tag) {
    EXPECT_EQ(countOf({.group = group, .peer = 3, .tag = tag}), kThreads * kTurns) << tag;
  }
}

// Last in this file: no other stream has room behind it.
TEST(MessageStreams, BeyondTheirBoundAreNotCountedAndNeverWrong) {
  const std::uint64_t group = newGroup();
  constexpr int kMany = 600000;
  int counted = 0;
  for (int tag = 0; tag < kMany; ++tag) {
    const std::uint64_t number = countIn({.group = group, .peer = 0, .tag = tag});
    EXPECT_LE(number, 1U) << tag;
    counted += number == 1 ? 1 : 0;
  }
  EXPECT_GT(counted, 200000);
  EXPECT_LT(counted, kMany);
  int again = 0;
  for (int tag = 0; tag < kMany; ++tag) {
    again += countIn({.group = group, .peer = 0, .tag = tag}) == 2 ? 1 : 0;
  }
  EXPECT_EQ(again, counted);
  // Another process may have had few messages: what it makes ids of is counted there as here.
  EXPECT_EQ(countIn({.group = group, .tag = 1, .way = Way::kNamed}), 1U);
  EXPECT_EQ(countIn({.group = group, .tag = 1, .way = Way::kNamed}), 2U);
}

}  // namespace
}  // namespace omnio::trace
