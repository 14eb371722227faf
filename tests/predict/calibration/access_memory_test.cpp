#include "predict/calibration/access_memory.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>

namespace omnio::predict {
namespace {

const auto kPage = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
constexpr std::uint64_t kLarge = std::uint64_t{1} << 20;

std::uint64_t addressOf(const void* place) { return reinterpret_cast<std::uintptr_t>(place); }

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they have a malloc of theirs
TEST(AccessMemory, BlocksBeginWhereMallocHasThem) {
  // After a large block was freed, malloc would take others of its size from the heap.
  ASSERT_EQ(mallopt(M_MMAP_THRESHOLD, kLarge / 8), 1);
  AccessMemory memory(1);
  ASSERT_TRUE(memory.isThere());
  for (const std::uint64_t bytes : {kLarge / 8, kLarge - 1, 8 * kLarge, kBufferBytes}) {
    const std::unique_ptr<void, decltype(&std::free)> block(std::malloc(bytes), &std::free);
    EXPECT_EQ(addressOf(memory.nextBlock(bytes)) % kPage, addressOf(block.get()) % kPage) << bytes;
  }
  for (const std::uint64_t bytes : {1, 24, 25, 100, 4096, 100'000}) {
    AccessMemory other(1);
    ASSERT_TRUE(other.isThere());
    // The next block begins after the bytes that can be used of this one, and its own size.
    const std::unique_ptr<void, decltype(&std::free)> block(std::malloc(bytes), &std::free);
    const std::uint64_t distance = malloc_usable_size(block.get()) + 8;
    const std::uint64_t first = addressOf(other.nextBlock(bytes));
    EXPECT_EQ(addressOf(other.nextBlock(bytes)) - first, distance) << bytes;
  }
}
#endif

TEST(AccessMemory, LargeBlocksBeginAfterPageBoundaries) {
  AccessMemory memory(1);
  ASSERT_TRUE(memory.isThere());
  for (const std::uint64_t bytes : {kLarge / 8, kLarge - 1, 8 * kLarge, kBufferBytes}) {
    memory.nextBlock(1);
    EXPECT_EQ(addressOf(memory.nextBlock(bytes)) % kPage, 16U) << bytes;
  }
}

TEST(AccessMemory, SmallBlocksBeginAnywhereInTheirPages) {
  AccessMemory memory(1);
  ASSERT_TRUE(memory.isThere());
  std::set<std::uint64_t> begins;
  for (std::uint64_t i = 0; i < kPage / 16; ++i) {
    begins.insert(addressOf(memory.nextBlock(kPage)) % kPage);
  }
  EXPECT_EQ(begins.size(), kPage / 16);
  for (const std::uint64_t begin : begins) EXPECT_EQ(begin % 16, 0U);
}

TEST(AccessMemory, PagesBeginOnPageBoundaries) {
  AccessMemory memory(1);
  ASSERT_TRUE(memory.isThere());
  for (const std::uint64_t bytes : {std::uint64_t{1}, kPage, kLarge, kBufferBytes}) {
    memory.nextBlock(1);
    EXPECT_EQ(addressOf(memory.nextPages(bytes)) % kPage, 0U) << bytes;
  }
}

TEST(AccessMemory, IsGivenOutAgainWhenAllOtherWas) {
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, kPage, kLarge / 8, kLarge, 4 * kLarge, kBufferBytes}) {
    for (const bool is_block : {true, false}) {
      AccessMemory memory(1);
      ASSERT_TRUE(memory.isThere());
      const auto next = [&] {
        return is_block ? memory.nextBlock(bytes) : memory.nextPages(bytes);
      };
      char* const first = next();
      char* last = first;
      std::uint64_t given = 1;
      char* block = next();
      for (; block > last; block = next()) {
        ASSERT_GE(block, last + bytes);
        block[0] = block[bytes - 1] = 'x';
        last = block;
        ++given;
      }
      EXPECT_EQ(block, first) << bytes;
      EXPECT_LE(last + bytes, memory.begin() + AccessMemory::allBytes()) << bytes;
      if (bytes >= kLarge / 8) {
        EXPECT_GE(given, kBufferBytes / bytes) << bytes;
      }
    }
  }
}

}  // namespace
}  // namespace omnio::predict
