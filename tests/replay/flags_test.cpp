#include "replay/run/flags.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace omnio::replay {
namespace {

TEST(Flags, ARaisedFlagTellsWhenItsEventEnded) {
  std::vector<std::atomic<std::int64_t>> words(2);
  Flags flags(words);
  EXPECT_FALSE(flags.isRaised(0));
  flags.raise(0, 0);
  flags.raise(1, 123456789012345);
  EXPECT_EQ(flags.wait(0, WaitKind::kBlock), 0);
  EXPECT_EQ(flags.wait(1, WaitKind::kBlock), 123456789012345);
}

TEST(Flags, AllWhoWaitAreWoken) {
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::atomic<std::int64_t>> words(1);
    Flags flags(words);
    std::atomic<int> right{0};
    std::vector<std::thread> waiting;
    for (int i = 0; i < 3; ++i) {
      waiting.emplace_back(
          [&, i] { right += flags.wait(0, static_cast<WaitKind>(i % 3)) == round; });
    }
    flags.raise(0, round);
    for (std::thread& thread : waiting) thread.join();
    ASSERT_EQ(right, 3);
  }
}

// Who waits watches one half, without a time limit: that of a raised flag must not look like
// waiting.
TEST(Flags, TimesWithAnyLowerHalfAreSeen) {
  for (const std::int64_t high : {std::int64_t{0}, std::int64_t{1} << 32, std::int64_t{1} << 60}) {
    for (std::int64_t low = -4; low <= 4; ++low) {
      const std::int64_t end = std::max<std::int64_t>(high + low, 0);
      std::vector<std::atomic<std::int64_t>> words(1);
      Flags flags(words);
      std::thread raiser([&] { flags.raise(0, end); });
      EXPECT_EQ(flags.wait(0, WaitKind::kBlock), end);
      raiser.join();
    }
  }
}

}  // namespace
}  // namespace omnio::replay
