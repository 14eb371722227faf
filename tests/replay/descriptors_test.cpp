#include "replay/issue/descriptors.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace omnio::replay {
namespace {

using StreamUse = Descriptors::StreamUse;

// Two threads of an edited schedule may close a stream and write to it.
TEST(Descriptors, AStreamIsTakenWhenNoCallWorksOnItAnyMore) {
  Descriptors descriptors(1);
  FILE* const stream = tmpfile();
  ASSERT_NE(stream, nullptr);
  descriptors.opened(0, fileno(stream), stream, false);
  auto use = std::make_unique<StreamUse>(descriptors, 0);
  EXPECT_EQ(use->get(), stream);
  std::atomic<bool> is_taken = false;
  std::thread closer([&] {
    EXPECT_EQ(descriptors.takeStream(0), stream);
    is_taken = true;
  });
  while (descriptors.fd(0) >= 0) std::this_thread::yield();
  EXPECT_FALSE(is_taken);
  EXPECT_EQ(StreamUse(descriptors, 0).get(), nullptr);
  use.reset();
  closer.join();
  EXPECT_TRUE(is_taken);
  EXPECT_EQ(descriptors.takeStream(0), nullptr);
  fclose(stream);
}

TEST(Descriptors, AllWaitsOfARankTogetherAreShort) {
  constexpr std::int64_t kPatienceUs = 50'000;
  // More than an hour, each by itself: the test would be ended.
  constexpr std::uint32_t kSlots = 100'000;
  Descriptors descriptors(kSlots, kPatienceUs);
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) EXPECT_EQ(descriptors.fd(slot), -1);
  const auto waited = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(waited, std::chrono::microseconds(kPatienceUs));
}

}  // namespace
}  // namespace omnio::replay
