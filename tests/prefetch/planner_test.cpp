// What is worth fetching for the threads of a process.
#include "prefetch/planner.hpp"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace omnio::prefetch {
namespace {

using predict::Kind;
using predict::Operation;

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr std::int64_t kRequest = 64 * kKiB;

// A read takes 200 us, and 800 us later the next one begins.
Operation readOf(std::int64_t turn, std::int64_t offset, std::int64_t bytes = kRequest,
                 predict::Slot slot = 0) {
  return {.context = 3 + slot,
          .slot = slot,
          .file = event::FileId{7 + slot},
          .kind = Kind::kRead,
          .has_size = true,
          .has_offset = true,
          .offset = offset,
          .bytes = bytes,
          .start_ns = turn * 1'000'000,
          .end_ns = turn * 1'000'000 + 200'000};
}

void takeStrided(Planner& planner, std::int64_t reads, std::uint32_t thread = 0) {
  for (std::int64_t turn = 0; turn < reads; ++turn) {
    planner.take(thread, readOf(turn, (turn + 1) * kMiB));
  }
}

// So many turns; the plans along the way had so many bytes.
template <typename OffsetOf>
std::int64_t bytesPlanned(std::int64_t turns, std::int64_t bytes, OffsetOf offset_of) {
  Planner planner;
  std::int64_t planned = 0;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    planner.take(0, readOf(turn, offset_of(turn), bytes));
    if (planner.needsNoPlan()) continue;
    for (const Wanted& wanted : planner.plan(0)) planned += wanted.bytes;
  }
  return planned;
}

TEST(Planner, WantsTheNextReadsOfAStridedLoop) {
  Planner planner;
  takeStrided(planner, 10);
  const std::vector<Wanted> wanted = planner.plan(0);
  ASSERT_EQ(wanted.size(), Planner::kMostAhead);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto turn = static_cast<std::int64_t>(i);
    EXPECT_EQ(wanted[i].file, event::FileId{7});
    EXPECT_EQ(wanted[i].offset, (11 + turn) * kMiB);
    EXPECT_EQ(wanted[i].bytes, kRequest);
    EXPECT_EQ(wanted[i].stream.thread, 0U);
    EXPECT_EQ(wanted[i].stream.slot, 0U);
  }
}

TEST(Planner, NeedsNoPlanBeforeAQuarterOfTheLastOneIsOver) {
  Planner planner;
  EXPECT_FALSE(planner.needsNoPlan());
  std::vector<std::int64_t> plans;
  for (std::int64_t turn = 0; turn < 40; ++turn) {
    planner.take(0, readOf(turn, turn * kMiB));
    if (planner.needsNoPlan()) continue;
    planner.plan(0);
    plans.push_back(turn);
  }
  ASSERT_GE(plans.size(), 6U);
  EXPECT_LE(plans.front(), 6);
  for (std::size_t i = 1; i < plans.size(); ++i) {
    EXPECT_EQ(plans[i] - plans[i - 1],
              static_cast<std::int64_t>(Planner::kMostAhead / Planner::kPlansAhead));
  }
  // What is not as expected makes a new plan due.
  const std::int64_t next = plans.back() + 1;
  for (std::int64_t turn = 40; turn < next + 4; ++turn) planner.take(0, readOf(turn, turn * kMiB));
  planner.plan(0);
  planner.take(0, readOf(next + 4, 777 * kMiB));
  EXPECT_FALSE(planner.needsNoPlan());
}

TEST(Planner, TellsWhenTheNextPlanIsDue) {
  Planner planner;
  EXPECT_FALSE(planner.until());
  takeStrided(planner, 10);
  planner.plan(0);
  const auto until = planner.until();
  ASSERT_TRUE(until);
  EXPECT_EQ(until->next_ns, 800'000);
  EXPECT_EQ(until->plan_ns, 800'000 + 3 * 1'000'000);
}

TEST(Planner, WantsNothingOfRandomReads) {
  std::mt19937 random(1);
  const auto anywhere = [&random](std::int64_t) {
    return std::uniform_int_distribution<std::int64_t>(0, 1 << 20)(random) * kRequest;
  };
  EXPECT_EQ(bytesPlanned(500, kRequest, anywhere), 0);
}

TEST(Planner, LeavesContiguousReadsToTheKernel) {
  const auto straight = [](std::int64_t turn) { return turn * kRequest; };
  EXPECT_EQ(bytesPlanned(200, kRequest, straight), 0);
  // Of short ones no more than the kernel's first window.
  const auto short_ones = [](std::int64_t turn) { return turn * 4 * kKiB; };
  Planner planner;
  for (std::int64_t turn = 0; turn < 200; ++turn) {
    planner.take(0, readOf(turn, short_ones(turn), 4 * kKiB));
    for (const Wanted& wanted : planner.plan(0)) EXPECT_LT(wanted.offset, 128 * kKiB);
  }
}

TEST(Planner, LeavesReadsOfAKibibyteAlone) {
  const auto strided = [](std::int64_t turn) { return turn * kMiB; };
  EXPECT_EQ(bytesPlanned(100, kKiB, strided), 0);
  EXPECT_GT(bytesPlanned(100, kKiB + 1, strided), 0);
}

TEST(Planner, StopsWhereRequestsAreWasted) {
  Planner planner;
  takeStrided(planner, 10);
  // The grammar and the patterns are trusted each by itself.
  for (int way = 0; way < 2; ++way) {
    const std::vector<Wanted> wanted = planner.plan(0);
    ASSERT_EQ(wanted.size(), 16U);
    for (const Wanted& one : wanted) planner.ended(one.stream, false);
  }
  EXPECT_TRUE(planner.plan(0).empty());
  planner.take(0, readOf(10, 11 * kMiB));
  EXPECT_TRUE(planner.needsNoPlan() || planner.plan(0).empty());
}

TEST(Planner, ThreadsHavePlansOfTheirOwn) {
  Planner planner;
  for (std::int64_t turn = 0; turn < 10; ++turn) {
    planner.take(0, readOf(2 * turn, (turn + 1) * kMiB));
    planner.take(1, readOf(2 * turn + 1, (turn + 1) * 2 * kMiB, kRequest, 1));
  }
  const std::vector<Wanted> first = planner.plan(0);
  const std::vector<Wanted> second = planner.plan(1);
  ASSERT_FALSE(first.empty());
  ASSERT_FALSE(second.empty());
  for (const Wanted& wanted : first) EXPECT_EQ(wanted.file, event::FileId{7});
  for (const Wanted& wanted : second) EXPECT_EQ(wanted.file, event::FileId{8});
  EXPECT_EQ(first.front().offset, 11 * kMiB);
  EXPECT_EQ(second.front().offset, 22 * kMiB);
}

TEST(Planner, FollowsATwoDimensionalPattern) {
  Planner planner;
  const auto offset_of = [](std::int64_t turn) { return (turn / 5 * 7 + turn % 5 + 1) * kMiB; };
  for (std::int64_t turn = 0; turn < 60; ++turn) planner.take(0, readOf(turn, offset_of(turn)));
  const std::vector<Wanted> wanted = planner.plan(0);
  ASSERT_EQ(wanted.size(), 16U);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(wanted[i].offset, offset_of(60 + static_cast<std::int64_t>(i)));
  }
}

// The models of an earlier run know what comes after the first read.
TEST(Planner, GoesOnWithAnEarlierRun) {
  predict::ProcessModels earlier;
  const std::size_t number = earlier.add();
  for (std::int64_t turn = 0; turn < 50; ++turn) {
    earlier.take(number, readOf(turn, (turn + 1) * kMiB));
  }
  earlier.beginRun();
  Planner planner;
  planner.goOnWith(std::move(earlier), {{0, number}});
  planner.take(0, readOf(100, kMiB));
  EXPECT_FALSE(planner.needsNoPlan());
  const std::vector<Wanted> wanted = planner.plan(0);
  ASSERT_FALSE(wanted.empty());
  EXPECT_EQ(wanted.front().offset, 2 * kMiB);
  EXPECT_EQ(wanted.back().offset, (1 + static_cast<std::int64_t>(wanted.size())) * kMiB);
}

}  // namespace
}  // namespace omnio::prefetch
