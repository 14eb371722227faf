#include "replay/issue/buffers.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace omnio::replay {
namespace {

TEST(Buffers, WhatWasReadIsThereAndWhatIsBeyondItIsNotWithoutEnd) {
  PlannedThread thread;
  thread.read_request = std::uint64_t{1} << 40;
  thread.read_moved = 5 << 20;
  Buffers buffers;
  ASSERT_FALSE(buffers.reserve(thread, 1));
  EXPECT_GE(buffers.readRoom(), thread.read_request);
  EXPECT_EQ(Buffers::bytesTouched(thread), std::uint64_t{5} << 20);
  const int zeros = open("/dev/zero", O_RDONLY);
  ASSERT_GE(zeros, 0);
  EXPECT_EQ(read(zeros, buffers.forRead(), 6 << 20), 6 << 20);
  EXPECT_EQ(read(zeros, buffers.forRead() + (std::int64_t{1} << 39), 4096), -1);
  EXPECT_EQ(errno, EFAULT);
  close(zeros);
}

// What the kernel may take of a write that failed when it was recorded; only the rest has content.
TEST(Buffers, AWriteThatFailedHasRoomWithoutMemory) {
  PlannedThread thread;
  thread.write_request = 1000;
  thread.write_failed = std::uint64_t{1} << 31;
  Buffers buffers;
  ASSERT_FALSE(buffers.reserve(thread, 1));
  EXPECT_GE(buffers.writeRoom(), thread.write_failed);
  EXPECT_LT(Buffers::bytesTouched(thread), 1U << 20);
  for (int turn = 0; turn < 100; ++turn) {
    const std::span<char> content = buffers.forWrite(std::size_t{1} << 40, false);
    EXPECT_EQ(content.size(), 1000U);
    EXPECT_EQ(content.data()[thread.write_failed - 1], 0);
  }
}

}  // namespace
}  // namespace omnio::replay
