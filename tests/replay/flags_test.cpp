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

TEST(Flags, EndsOnTimeAreToldWhereThereIsRoomForThem) {
  for (const bool has_on_time : {false, true}) {
    std::vector<std::atomic<std::int64_t>> words(Flags::words(2, 1, has_on_time));
    Flags flags(words, 2, has_on_time);
    flags.raise(1, 0, {.end_ns = 70, .on_time_ns = 50});
    flags.raise(kFirstLoopFlag, 3, {.end_ns = 90, .recorded_end_ns = 80, .on_time_ns = 60});
    EXPECT_EQ(flags.wait(1, 0, WaitKind::kBlock).end_ns, 70);
    EXPECT_EQ(flags.wait(1, 0, WaitKind::kBlock).on_time_ns, has_on_time ? 50 : 0);
    EXPECT_EQ(flags.wait(kFirstLoopFlag, 3, WaitKind::kBlock).on_time_ns, 60);
    EXPECT_FALSE(flags.isRaised(0));
  }
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

TEST(Flags, OfALoopTellWhenEachPassEnded) {
  constexpr std::int64_t kPasses = 20'000;
  std::vector<std::atomic<std::int64_t>> words(Flags::words(3, 2));
  Flags flags(words, 3);
  const std::uint32_t first = kFirstLoopFlag + 1;
  const std::uint32_t second = kFirstLoopFlag;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  // Each pass of one waits for the same pass of the other, and back.
  threads.emplace_back([&] {
    for (std::int64_t pass = 0; pass < kPasses; ++pass) {
      flags.raise(first, pass, {.end_ns = pass * 3, .recorded_end_ns = pass * 5});
      const RaisedEnd end = flags.wait(second, pass, static_cast<WaitKind>(pass % 3));
      if (end.end_ns != pass * 7) ++wrong;
    }
  });
  threads.emplace_back([&] {
    for (std::int64_t pass = 0; pass < kPasses; ++pass) {
      const RaisedEnd end = flags.wait(first, pass, static_cast<WaitKind>(pass % 2));
      if (end.end_ns != pass * 3 || end.recorded_end_ns != pass * 5) ++wrong;
      flags.raise(second, pass, {.end_ns = pass * 7});
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(flags.isRaised(0));
  EXPECT_TRUE(flags.isRaised(first, kPasses - 1));
  EXPECT_FALSE(flags.isRaised(first, kPasses));
  // The end of one that was long ago is not known any more, and nothing waits for it.
  EXPECT_EQ(flags.wait(first, 0, WaitKind::kBlock).end_ns, 0);
}

TEST(Flags, OfALoopMayBeToldOutOfOrderAndTwice) {
  std::vector<std::atomic<std::int64_t>> words(Flags::words(0, 1));
  Flags flags(words, 0);
  flags.raise(kFirstLoopFlag, 1, {.end_ns = 11});
  EXPECT_TRUE(flags.isRaised(kFirstLoopFlag, 1));
  std::thread late([&] { flags.raise(kFirstLoopFlag, 0, {.end_ns = 10}); });
  EXPECT_EQ(flags.wait(kFirstLoopFlag, 0, WaitKind::kBlock).end_ns, 10);
  late.join();
  constexpr std::int64_t kAhead = 64;  // takes the place of the first
  flags.raise(kFirstLoopFlag, kAhead, {.end_ns = 99});
  flags.raise(kFirstLoopFlag, 0, {.end_ns = 10});
  EXPECT_EQ(flags.wait(kFirstLoopFlag, kAhead, WaitKind::kBlock).end_ns, 99);
  EXPECT_EQ(flags.wait(kFirstLoopFlag, 1, WaitKind::kBlock).end_ns, 11);
}

}  // namespace
}  // namespace omnio::replay
