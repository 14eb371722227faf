#include "replay/issue/buffers.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <string>

namespace omnio::replay {
namespace {

TEST(Buffers, WhatWasReadIsThereAndWhatIsBeyondItIsNotWithoutEnd) {
  PlannedThread thread;
  thread.read_request = std::uint64_t{1} << 40;
  thread.read_moved = 5 << 20;
  Buffers buffers;
  ASSERT_TRUE(buffers.reserve(thread, 1));
  EXPECT_GE(buffers.readRoom(), thread.read_request);
  EXPECT_EQ(Buffers::bytesTouched(thread), std::uint64_t{5} << 20);
  const int zeros = open("/dev/zero", O_RDONLY);
  ASSERT_GE(zeros, 0);
  EXPECT_EQ(read(zeros, buffers.forRead(true), 6 << 20), 6 << 20);
  EXPECT_EQ(read(zeros, buffers.forRead(true) + (std::int64_t{1} << 39), 4096), -1);
  EXPECT_EQ(errno, EFAULT);
  close(zeros);
}

// The kernel may take a part of a write that failed when recorded; only the rest has content.
TEST(Buffers, AWriteThatFailedHasRoomWithoutMemory) {
  PlannedThread thread;
  thread.write_request = 1000;
  thread.write_failed = std::uint64_t{1} << 31;
  Buffers buffers;
  ASSERT_TRUE(buffers.reserve(thread, 1));
  EXPECT_GE(buffers.writeRoom(), thread.write_failed);
  EXPECT_LT(Buffers::bytesTouched(thread), 1U << 20);
  for (int turn = 0; turn < 100; ++turn) {
    const std::span<char> content = buffers.forWrite(std::size_t{1} << 40, false);
    EXPECT_EQ(content.size(), 1000U);
    EXPECT_EQ(content.data()[thread.write_failed - 1], 0);
  }
}

// Storage that finds equal blocks, or runs of equal bytes, would be too fast.
TEST(Buffers, EachWriteDiffersInEachBlockFromTheOneBefore) {
  constexpr std::size_t kBlock = 4096;
  PlannedThread thread;
  thread.write_request = 4 * kBlock;
  Buffers buffers;
  ASSERT_TRUE(buffers.reserve(thread, 1));
  std::set<std::string> blocks;
  constexpr int kWrites = 20;
  for (int write = 0; write < kWrites; ++write) {
    const std::span<char> content = buffers.forWrite(4 * kBlock, true);
    ASSERT_EQ(content.size(), 4 * kBlock);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(content.data()) % kBlock, 0U);
    for (std::size_t at = 0; at < content.size(); at += kBlock) {
      blocks.emplace(content.data() + at, kBlock);
    }
  }
  EXPECT_EQ(blocks.size(), 4U * kWrites);
}

TEST(Buffers, ContentHasNoNulAndNoNewlineAndRoomForOneByteBehindIt) {
  PlannedThread thread;
  thread.write_request = 70000;
  Buffers buffers;
  ASSERT_TRUE(buffers.reserve(thread, 3));
  for (int write = 0; write < 2000; ++write) {
    const std::span<char> content = buffers.forWrite(70000, false);
    EXPECT_EQ(std::memchr(content.data(), 0, content.size()), nullptr);
    EXPECT_EQ(std::memchr(content.data(), '\n', content.size()), nullptr);
    char& behind = content.data()[content.size()];
    const char was = behind;
    behind = '\0';
    behind = was;
  }
}

TEST(Buffers, WithARatioWhatIsNoCopyDiffersAndCopiesStayCopies) {
  constexpr std::size_t kBlock = Content::kBlock;
  const auto content = Content::parse("ratio=2.5,duplicates=0.25");
  ASSERT_TRUE(content);
  PlannedThread thread;
  thread.write_request = 10 * kBlock;
  Buffers buffers;
  ASSERT_TRUE(buffers.reserve(thread, 5, *content));
  EXPECT_EQ(Buffers::bytesTouched(thread, *content), 10 * kBlock + Content::kRing);
  std::set<std::string> blocks;
  std::size_t all = 0;
  for (int write = 0; write < 400; ++write) {
    // Small ones between must not change the copies.
    EXPECT_EQ(buffers.forWrite(100, false).size(), 100U);
    EXPECT_EQ(buffers.forText(700, false).data()[700], '\0');
    const std::size_t bytes = static_cast<std::size_t>(write % 10 + 1) * kBlock;
    const std::span<char> written = buffers.forWrite(bytes, write % 2 == 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(written.data()) % kBlock, 0U);
    EXPECT_EQ(std::memchr(written.data(), 0, written.size()), nullptr);
    for (std::size_t at = 0; at < written.size(); at += kBlock) {
      blocks.emplace(written.data() + at, kBlock);
      ++all;
    }
  }
  EXPECT_NEAR(static_cast<double>(all - blocks.size()), 0.25 * static_cast<double>(all), 70);
}

TEST(Buffers, TextsInPlaceOfZerosHaveNoNulAndAreZerosAgain) {
  PlannedThread thread;
  thread.write_request = 10000;
  Buffers buffers;
  ASSERT_TRUE(buffers.reserve(thread, 1, *Content::parse("zero")));
  for (const std::size_t bytes : {3UL, 9000UL, 10000UL}) {
    EXPECT_EQ(std::string(buffers.forText(bytes, false).data()), std::string(bytes, '0'));
    const std::span<char> zeros = buffers.forWrite(10000, false);
    EXPECT_EQ(std::string(zeros.data(), zeros.size()), std::string(10000, '\0'));
  }
}

// The end of a short text must not end a longer one that comes after it.
TEST(Buffers, TextsAreAsLongAsTheyWereAskedFor) {
  PlannedThread thread;
  thread.write_request = 70000;
  Buffers buffers;
  ASSERT_TRUE(buffers.reserve(thread, 1));
  for (std::size_t turn = 0; turn < 3000; ++turn) {
    const std::size_t bytes = turn % 2 == 0 ? 100 + turn : 70000;
    EXPECT_EQ(std::strlen(buffers.forText(bytes, false).data()), bytes);
  }
}

TEST(Buffers, TwoThreadsWriteOtherContent) {
  PlannedThread thread;
  thread.write_request = 4096;
  Buffers one;
  Buffers other;
  ASSERT_TRUE(one.reserve(thread, 1));
  ASSERT_TRUE(other.reserve(thread, 2));
  const std::span<char> a = one.forWrite(4096, true);
  const std::span<char> b = other.forWrite(4096, true);
  EXPECT_NE(std::string(a.data(), a.size()), std::string(b.data(), b.size()));
}

}  // namespace
}  // namespace omnio::replay
