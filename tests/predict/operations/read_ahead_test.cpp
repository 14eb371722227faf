#include "predict/operations/read_ahead.hpp"

#include <gtest/gtest.h>

namespace omnio::predict {
namespace {

constexpr std::int64_t kPage = ReadAhead::kPageBytes;

Operation readOf(std::int64_t offset, std::int64_t bytes) {
  return {.file = event::FileId{1},
          .kind = Kind::kRead,
          .has_size = true,
          .has_offset = true,
          .offset = offset,
          .bytes = bytes};
}

// From the first read on the kernel is ahead of one that reads in order.
TEST(ReadAhead, SequentialReadsAreReady) {
  ReadAhead ahead;
  EXPECT_EQ(ahead.take(readOf(0, kPage)), 0);
  for (std::int64_t page = 1; page < 1000; ++page) {
    EXPECT_EQ(ahead.take(readOf(page * kPage, kPage)), kPage) << page;
  }
  EXPECT_GT(ahead.usedPages() + 64, ahead.fetchedPages());
}

TEST(ReadAhead, RandomReadsAreNot) {
  ReadAhead ahead;
  for (std::int64_t i = 1; i < 100; ++i) {
    const std::int64_t page = 1000 * (i * 37 % 101);
    EXPECT_EQ(ahead.take(readOf(page * kPage, kPage)), 0);
  }
  EXPECT_EQ(ahead.usedPages(), 0U);
}

TEST(ReadAhead, WrittenPagesAreReady) {
  ReadAhead ahead;
  Operation write = readOf(100 * kPage, 2 * kPage);
  write.kind = Kind::kWrite;
  ahead.take(write);
  EXPECT_EQ(ahead.take(readOf(100 * kPage + 10, kPage)), kPage);
  // Half of it is in the page before.
  EXPECT_EQ(ahead.take(readOf(100 * kPage - 10, 20)), 10);
}

// get_init_ra_size() and get_next_ra_size(): of one page 4, then 8, 16 and 32.
TEST(ReadAhead, WindowsGrowAsTheKernels) {
  ReadAhead ahead;
  ahead.take(readOf(0, kPage));
  EXPECT_EQ(ahead.fetchedPages(), 4U);
  ahead.take(readOf(kPage, kPage));  // comes to the marker
  EXPECT_EQ(ahead.fetchedPages(), 12U);
  for (std::int64_t page = 2; page < 5; ++page) ahead.take(readOf(page * kPage, kPage));
  EXPECT_EQ(ahead.fetchedPages(), 28U);
}

// Many files, each with as many runs of pages and open descriptions as there may be.
TEST(ReadAhead, MemoryIsBounded) {
  ReadAhead ahead;
  for (std::int64_t i = 0; i < 200'000; ++i) {
    const auto file = static_cast<std::uint32_t>(i % 2000);
    Operation read = readOf(kPage * (i / 2000 * 100), kPage);
    read.file = event::FileId{file};
    read.slot = file;
    read.session = static_cast<std::uint64_t>(i);
    ahead.take(read);
    ASSERT_LE(ahead.memoryBytes(), ReadAhead::kMostBytes);
  }
  for (std::int64_t i = 0; i < 20'000; ++i) {
    ahead.take(readOf(kPage * i * 100, kPage));
    ASSERT_LE(ahead.memoryBytes(), ReadAhead::kMostBytes);
  }
}

// The file that was not used for longest is forgotten, and not the one in use.
TEST(ReadAhead, ForgetsFilesThatWereNotUsedForLong) {
  ReadAhead ahead;
  const auto read = [&ahead](std::uint32_t file, std::int64_t page) {
    Operation one = readOf(page * kPage, kPage);
    one.file = event::FileId{file};
    one.slot = file;
    return ahead.take(one);
  };
  read(1, 7);
  read(2, 7);
  for (std::uint32_t file = 3; file < 20'000; ++file) {
    read(file, 7);
    ASSERT_EQ(read(1, 7), kPage) << file;
  }
  EXPECT_EQ(read(2, 7), 0);
}

TEST(ReadAhead, AnotherFileHasOtherPages) {
  ReadAhead ahead;
  ahead.take(readOf(0, kPage));
  Operation other = readOf(0, kPage);
  other.file = event::FileId{2};
  EXPECT_EQ(ahead.take(other), 0);
}

}  // namespace
}  // namespace omnio::predict
