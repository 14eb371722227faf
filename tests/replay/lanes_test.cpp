#include "replay/plan/lanes.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace omnio::replay {
namespace {

PlannedThread from(std::int64_t start_ns, std::int64_t end_ns, std::uint64_t bytes = 0) {
  PlannedThread thread;
  thread.first_start_ns = start_ns;
  thread.last_end_ns = end_ns;
  thread.write_request = bytes;
  return thread;
}

Lanes of(const std::vector<PlannedThread>& threads) {
  std::vector<const PlannedThread*> pointers;
  for (const PlannedThread& thread : threads) pointers.push_back(&thread);
  return lanesOf(pointers);
}

TEST(Lanes, ThreadsThatFollowEachOtherShareOne) {
  const Lanes lanes = of({from(0, 100, 10), from(100, 200, 70), from(200, 300, 30)});
  EXPECT_EQ(lanes.of_thread, (std::vector<std::size_t>{0, 0, 0}));
  ASSERT_EQ(lanes.largest.size(), 1U);
  EXPECT_EQ(lanes.largest[0].write_request, 70U);
}

TEST(Lanes, ThreadsThatRanAtOnceShareNone) {
  const Lanes lanes = of({from(0, 1000), from(100, 200), from(199, 300), from(250, 400)});
  EXPECT_EQ(lanes.of_thread, (std::vector<std::size_t>{0, 1, 2, 1}));
  EXPECT_EQ(lanes.largest.size(), 3U);
}

TEST(Lanes, TheOneThatWasInUseLastIsUsedAgain) {
  const Lanes lanes = of({from(0, 50), from(10, 60), from(70, 80)});
  EXPECT_EQ(lanes.of_thread[2], 1U);
}

TEST(Lanes, WhereOrderIsNotKeptAllMayRunAtOnce) {
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(of({from(kFirst, kLast), from(kFirst, kLast)}).largest.size(), 2U);
  EXPECT_TRUE(of({}).largest.empty());
}

}  // namespace
}  // namespace omnio::replay
