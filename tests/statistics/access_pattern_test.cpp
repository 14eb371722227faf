// How requests follow each other, and the lateness behind the longest wait.
#include "statistics/access_pattern.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/file.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "statistics/report.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::stats {
namespace {

using test::EventSpec;

constexpr std::int64_t kBlock = 4096;

// A process that works on /data/file by handle 1.
class Writer {
 public:
  Writer(int rank, int ranks)
      : rank_(rank), ranks_(ranks), chunk_(900 + static_cast<std::uint64_t>(rank), 0, 0, 0, 0) {
    chunk_.text(0, "/data/file");
    chunk_.handle({.handle = 1, .description = 1, .fd = 3, .text_slot = 0});
  }

  Writer& event(std::string_view symbol, EventSpec spec) {
    spec.start = now_;
    spec.end = now_ + 1000;
    now_ += 1000;
    chunk_.event(test::numberOf(symbol), spec);
    return *this;
  }
  Writer& pwrite(std::int64_t offset, std::int64_t bytes, unsigned depth = 0) {
    return event("pwrite64", {.arguments = {1, 0, bytes, offset},
                              .request = static_cast<std::uint64_t>(bytes),
                              .result = bytes,
                              .depth = depth});
  }
  Writer& pread(std::int64_t offset, std::int64_t bytes) {
    return event("pread64", {.arguments = {1, 0, bytes, offset},
                             .request = static_cast<std::uint64_t>(bytes),
                             .result = bytes});
  }
  Writer& move(std::string_view symbol, std::int64_t bytes) {
    return event(symbol, {.arguments = {1, 0, bytes},
                          .request = static_cast<std::uint64_t>(bytes),
                          .result = bytes});
  }

  void save(const test::TemporaryDirectory& directory) const {
    test::ContainerBuilder container(900 + static_cast<std::uint64_t>(rank_),
                                     static_cast<std::uint32_t>(100 + rank_));
    container.facts(test::usualFacts(rank_, ranks_)).chunk(chunk_).ended(chunk_.header.event_count);
    container.save(directory / fmt::format("node1.{}.0.omnio", 100 + rank_));
  }

 private:
  int rank_;
  int ranks_;
  std::uint64_t now_ = 0;
  test::ChunkBuilder chunk_;
};

class AccessPatterns : public testing::Test {
 protected:
  Report report(By by, const Selection& selection = {}, std::uint64_t alignment = kBlock) {
    const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_.path());
    return *makeReport(*trace, by, selection, PatternOptions{alignment});
  }
  AccessPattern ofFile() {
    const Report found = report(By::kFile);
    EXPECT_EQ(found.groups.size(), 1U);
    EXPECT_EQ(found.groups.front().name, "/data/file");
    return found.groups.front().pattern;
  }
  test::TemporaryDirectory directory_;
};

TEST_F(AccessPatterns, RequestsAreConsecutiveSequentialOrRandom) {
  Writer(0, 1)
      .pwrite(0, kBlock)
      .pwrite(kBlock, kBlock)           // consecutive
      .pwrite(10 * kBlock, kBlock)      // further on
      .pwrite(11 * kBlock, 2 * kBlock)  // consecutive
      .pwrite(12 * kBlock, kBlock)      // back, into the one before
      .save(directory_);
  const AccessPattern pattern = ofFile();
  EXPECT_EQ(pattern.write.placed, 5U);
  EXPECT_EQ(pattern.write.first, 1U);
  EXPECT_EQ(pattern.write.consecutive, 2U);
  EXPECT_EQ(pattern.write.sequential(), 3U);
  EXPECT_EQ(pattern.write.random(), 1U);
  EXPECT_EQ(pattern.write.misaligned, 0U);
  EXPECT_EQ(pattern.read.placed, 0U);
}

TEST_F(AccessPatterns, PositionsAreFollowed) {
  Writer(0, 1)
      .move("write", 100)
      .move("write", 100)
      .event("lseek64", {.arguments = {1, 50, SEEK_SET}, .result = 50})
      .move("read", 10)
      .move("read", 10)
      .save(directory_);
  const AccessPattern pattern = ofFile();
  EXPECT_EQ(pattern.write.consecutive, 1U);
  EXPECT_EQ(pattern.read.first, 1U);
  EXPECT_EQ(pattern.read.consecutive, 1U);
  EXPECT_EQ(pattern.switches, 1U);
  EXPECT_EQ(pattern.read_back, 1U);  // the second read comes behind a read
  EXPECT_EQ(pattern.read_back_bytes, 10U);
  EXPECT_EQ(pattern.write.misaligned, 1U);  // that at 0 is aligned
  EXPECT_EQ(pattern.read.misaligned, 2U);
}

TEST_F(AccessPatterns, AReadOfWhatWasNotWrittenIsNoReadBack) {
  Writer(0, 1).pwrite(0, 100).pread(5000, 100).pwrite(100, 100).pread(150, 10).save(directory_);
  const AccessPattern pattern = ofFile();
  EXPECT_EQ(pattern.switches, 3U);
  EXPECT_EQ(pattern.read_back, 1U);
}

TEST_F(AccessPatterns, TheAlignmentCanBeChosen) {
  Writer(0, 1).pwrite(kBlock, 10).pwrite(1 << 20, 10).pwrite(100, 10).save(directory_);
  EXPECT_EQ(ofFile().write.misaligned, 1U);
  EXPECT_EQ(report(By::kFile, {}, 1 << 20).groups[0].pattern.write.misaligned, 2U);
}

TEST_F(AccessPatterns, RanksHaveTheirOwnOrder) {
  for (int rank = 0; rank < 2; ++rank) {
    Writer writer(rank, 2);
    for (int i = 0; i < 4; ++i) writer.pwrite((2 * i + rank) * kBlock, kBlock);
    writer.save(directory_);
  }
  const AccessPattern pattern = ofFile();
  EXPECT_EQ(pattern.write.first, 2U);
  EXPECT_EQ(pattern.write.consecutive, 0U);
  EXPECT_EQ(pattern.write.sequential(), 6U);
  const Report ranks = report(By::kRank);
  ASSERT_EQ(ranks.groups.size(), 2U);
  EXPECT_EQ(ranks.groups[1].pattern.write.sequential(), 3U);
  EXPECT_EQ(ranks.total.pattern.write.placed, 8U);
}

TEST_F(AccessPatterns, BytesThatAreReadAgainAreCountedByRankAndOverAllRanks) {
  for (int rank = 0; rank < 3; ++rank) {
    Writer writer(rank, 3);
    for (int again = 0; again < (rank == 0 ? 2 : 1); ++again) {
      for (int i = 0; i < 4; ++i) writer.pread(i * kBlock, kBlock);
    }
    writer.save(directory_);
  }
  const AccessPattern pattern = ofFile();
  EXPECT_EQ(pattern.reread_bytes, 4U * kBlock);       // by rank 0
  EXPECT_EQ(pattern.rereadByAny(), 3U * 4 * kBlock);  // all but the first time
  EXPECT_EQ(pattern.read.random(), 1U);               // the second round begins at the start
}

TEST_F(AccessPatterns, ANewFileOfTheSameNameIsNotReadAgain) {
  Writer writer(0, 1);
  for (int turn = 0; turn < 3; ++turn) {
    writer.pwrite(0, kBlock).pread(0, kBlock).pread(0, kBlock);
    writer.event("ftruncate64", {.arguments = {1, 0}});
  }
  writer.pread(0, 10).save(directory_);
  const AccessPattern pattern = ofFile();
  EXPECT_EQ(pattern.read.first, 4U);
  EXPECT_EQ(pattern.read.random(), 3U);
  EXPECT_EQ(pattern.rereadByAny(), 3U * kBlock);  // once in each turn
  EXPECT_EQ(pattern.reread_bytes, 3U * kBlock);
  EXPECT_EQ(pattern.read_back, 3U);
}

TEST_F(AccessPatterns, FoldersHaveNoRangeOfTheirOwn) {
  Writer(0, 1).pread(0, kBlock).pread(0, kBlock).save(directory_);
  EXPECT_NE(jsonOf(report(By::kFile)).find("\"reread_by_any_bytes\":4096"), std::string::npos);
  EXPECT_EQ(jsonOf(report(By::kFile, {.depth = 1})).find("reread_by_any_bytes"), std::string::npos);
}

TEST_F(AccessPatterns, CallsBelowTheApplicationCount) {
  Writer(0, 1)
      .pwrite(0, kBlock, 1)
      .pwrite(kBlock, kBlock, 1)
      .event("fsync", {.arguments = {1}})
      .save(directory_);
  const AccessPattern pattern = ofFile();
  EXPECT_EQ(pattern.write.consecutive, 1U);
  EXPECT_EQ(report(By::kFile).total.write.time_ns.count, 0U);
}

TEST_F(AccessPatterns, LocksAreCountedWithThoseThatWereRefused) {
  Writer(0, 1)
      .event("flock", {.arguments = {1, LOCK_EX}})
      .event("flock", {.arguments = {1, LOCK_UN}})
      .event("flock", {.arguments = {1, LOCK_EX | LOCK_NB}, .result = EWOULDBLOCK, .failed = true})
      .save(directory_);
  const AccessPattern pattern = ofFile();
  EXPECT_EQ(pattern.locks, 2U);
  EXPECT_EQ(pattern.locks_refused, 1U);
  EXPECT_EQ(pattern.locks_ns, 2000U);
}

TEST_F(AccessPatterns, StreamsWithoutABufferAreToldAndAreNotAligned) {
  Writer(0, 1)
      .event("fputc", {.arguments = {'a', 1}, .result = 'a'})
      .event("setvbuf", {.arguments = {1, 0, _IONBF, 0}})
      .event("fputc", {.arguments = {'a', 1}, .result = 'a'})
      .event("fputc", {.arguments = {'a', 1}, .result = 'a'})
      .event("setvbuf", {.arguments = {1, 1, _IOFBF, 1 << 20}})
      .event("fputc", {.arguments = {'a', 1}, .result = 'a'})
      .save(directory_);
  const AccessPattern pattern = ofFile();
  EXPECT_EQ(pattern.tiny_buffered, 2U);
  EXPECT_EQ(pattern.write.placed, 4U);
  EXPECT_EQ(pattern.write.consecutive, 3U);
  EXPECT_EQ(pattern.write.checked, 0U);
}

TEST_F(AccessPatterns, AWindowCountsItsOwnRequestsAndFollowsAll) {
  Writer(0, 1).move("write", 100).move("write", 100).move("write", 100).save(directory_);
  const Report found = report(By::kFile, {.window = Window{.from_ns = 1500, .to_ns = {}}});
  ASSERT_EQ(found.groups.size(), 1U);
  EXPECT_EQ(found.groups[0].pattern.write.placed, 1U);
  EXPECT_EQ(found.groups[0].pattern.write.consecutive, 1U);
}

TEST_F(AccessPatterns, WithoutBeingAskedForThereAreNone) {
  Writer(0, 1).move("write", 100).save(directory_);
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_.path());
  const Report found = *makeReport(*trace, By::kFile);
  EXPECT_FALSE(found.hasPatterns());
  EXPECT_TRUE(found.groups[0].pattern.isEmpty());
  EXPECT_EQ(textOf(found).find("Access patterns"), std::string::npos);
  EXPECT_NE(textOf(report(By::kFile)).find("Access patterns"), std::string::npos);
}

TEST_F(AccessPatterns, FilesAreSummedUpByTheirFolders) {
  Writer(0, 1).move("write", 100).pwrite(500, 10).save(directory_);
  for (const auto& [depth, name] :
       {std::pair(1U, "/data"), std::pair(2U, "/data/file"), std::pair(7U, "/data/file")}) {
    const Report found = report(By::kFile, {.depth = depth});
    ASSERT_EQ(found.groups.size(), 1U) << depth;
    EXPECT_EQ(found.groups[0].name, name);
    EXPECT_EQ(found.groups[0].write.size_bytes.total, 110U);
    EXPECT_EQ(found.groups[0].pattern.write.placed, 2U);
  }
}

}  // namespace
}  // namespace omnio::stats
