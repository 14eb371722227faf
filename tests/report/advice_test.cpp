// Each rule of the advice: reports that it finds something in, and such that it must not.
#include "report/advice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/command_line.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::report {
namespace {

using calls::Class;
using stats::Group;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kMib = 1 << 20;

void addTo(Group& group, std::uint64_t count, std::uint64_t bytes, std::uint64_t ns,
           Class call_class) {
  for (std::uint64_t i = 0; i < count; ++i) {
    ++group.times_ns[static_cast<std::size_t>(call_class)].count;
    group.time_ns.add(ns);
    if (call_class != Class::kRead && call_class != Class::kWrite) continue;
    stats::Transfer& transfer = call_class == Class::kRead ? group.read : group.write;
    transfer.time_ns.add(ns);
    transfer.size_bytes.add(bytes);
  }
}

// A run of 1 s on four ranks, with 400 ms of I/O each.
class Advice : public ::testing::Test {
 protected:
  Advice() {
    for (int rank = 0; rank < 4; ++rank) {
      by_rank_.ranks.push_back(
          {.rank = rank,
           .io = {.data_ns = 400 * kMs, .metadata_ns = 0, .sync_ns = 0, .waiting_ns = 0},
           .run_ns = 1000 * kMs});
      by_rank_.groups.emplace_back().name = std::to_string(rank);
    }
  }

  // `count` calls by that symbol, of each rank's share of it, on a file.
  void calls(std::string_view symbol, std::uint64_t count, std::uint64_t bytes, std::uint64_t ns,
             const std::string& file = "/scratch/data", int rank = -1) {
    const calls::Row& row = calls::kTable[test::numberOf(symbol)];
    addTo(groupOf(by_call_, std::string(row.name)), count, bytes, ns, row.call_class);
    groupOf(by_call_, std::string(row.name)).row = &row;
    addTo(groupOf(by_file_, file), count, bytes, ns, row.call_class);
    if (rank >= 0) {
      addTo(by_rank_.groups[static_cast<std::size_t>(rank)], count, bytes, ns, row.call_class);
    } else {
      for (Group& group : by_rank_.groups) addTo(group, count / 4, bytes, ns, row.call_class);
    }
  }

  std::vector<Finding> found() {
    for (stats::Report* report : {&by_file_, &by_call_, &by_rank_}) {
      report->total = {};
      for (const Group& group : report->groups) report->total.add(group);
    }
    return adviceOn({by_file_, by_call_, by_rank_}, settings_);
  }
  bool has(std::string_view code) {
    const std::vector<Finding> findings = found();
    return std::ranges::find(findings, code, &Finding::code) != findings.end();
  }

  Group& groupOf(stats::Report& report, const std::string& name) {
    for (Group& group : report.groups) {
      if (group.name == name) return group;
    }
    report.groups.emplace_back().name = name;
    return report.groups.back();
  }

  stats::Report by_file_;
  stats::Report by_call_;
  stats::Report by_rank_;
  AdviceSettings settings_;
};

TEST_F(Advice, LargeEvenRequestsNeedNone) {
  calls("write", 400, 4 * kMib, kMs);
  EXPECT_TRUE(found().empty());
  EXPECT_EQ(textOf(found()), "No advice: nothing in the I/O of this run stands out.\n");
}

TEST_F(Advice, SmallWrites) {
  calls("write", 400, 4096, kMs);
  ASSERT_TRUE(has("small-writes"));
  EXPECT_FALSE(has("small-reads"));
  EXPECT_EQ(found().front().grade, Grade::kSerious);
  EXPECT_NE(found().front().evidence.back().find("/scratch/data (400)"), std::string::npos);
}

TEST_F(Advice, SmallWritesAmongManyLargeOnesAreNone) {
  calls("write", 400, 4096, kMs);
  calls("write", 800, kMib, kMs);
  EXPECT_FALSE(has("small-writes"));
}

TEST_F(Advice, SmallWritesThatStreamsGatherAreNone) {
  calls("fwrite", 400, 40, kMs);
  EXPECT_FALSE(has("small-writes"));
  calls("write", 100, 40, kMs);
  ASSERT_TRUE(has("small-writes"));
  EXPECT_NE(found().front().title.find("100 of 100 writes"), std::string::npos);
}

TEST_F(Advice, SmallWritesThatCollectiveCallsGatherAreNone) {
  calls("MPI_File_write_at_all", 400, 4096, kMs);
  EXPECT_FALSE(has("small-writes"));
  calls("MPI_File_write_at", 100, 4096, kMs);
  EXPECT_TRUE(has("small-writes"));
}

TEST_F(Advice, TheReadsThatFindTheEndsOfFilesAreNotSmall) {
  calls("read", 400, kMib, kMs);
  calls("read", 400, 0, kMs / 100);
  EXPECT_FALSE(has("small-reads"));
  calls("read", 400, 512, kMs);
  ASSERT_TRUE(has("small-reads"));
  EXPECT_NE(found().front().title.find("400 of 800 reads"), std::string::npos);
}

TEST_F(Advice, FewSmallReadsAreNone) {
  calls("read", 96, 4096, kMs);
  EXPECT_FALSE(has("small-reads"));
  calls("read", 4, 4096, kMs);
  EXPECT_TRUE(has("small-reads"));
}

TEST_F(Advice, MetadataTime) {
  calls("open", 120, 0, 3 * kMs);
  by_rank_.ranks[2].io = {
      .data_ns = 300 * kMs, .metadata_ns = 200 * kMs, .sync_ns = 0, .waiting_ns = 0};
  ASSERT_TRUE(has("metadata-time"));
  EXPECT_NE(textOf(found()).find("Rank 2 spends 40 % of its I/O time in metadata calls"),
            std::string::npos);
  settings_.least_calls = 121;
  EXPECT_FALSE(has("metadata-time")) << "few calls";
  settings_.least_calls = 100;
  by_rank_.ranks[2].io.metadata_ns = 120 * kMs;
  EXPECT_FALSE(has("metadata-time"));
}

TEST_F(Advice, SyncOften) {
  calls("write", 400, kMib / 2, kMs);
  calls("fsync", 400, 0, kMs);
  for (stats::RankTime& rank : by_rank_.ranks) rank.io.sync_ns = 200 * kMs;
  EXPECT_TRUE(has("sync-often"));
  calls("write", 400, 4 * kMib, kMs);
  EXPECT_FALSE(has("sync-often")) << "much is written for each sync";
}

TEST_F(Advice, FlushesOfStreamsAreNoSyncs) {
  calls("fwrite", 400, 4096, kMs);
  calls("fflush", 400, 0, kMs);
  for (stats::RankTime& rank : by_rank_.ranks) rank.io.sync_ns = 200 * kMs;
  EXPECT_FALSE(has("sync-often"));
}

TEST_F(Advice, RankImbalance) {
  by_rank_.ranks[3].io.data_ns = 900 * kMs;
  EXPECT_TRUE(has("rank-imbalance"));
  by_rank_.ranks[3].io.data_ns = 500 * kMs;
  EXPECT_FALSE(has("rank-imbalance"));
}

TEST_F(Advice, OneRank) {
  calls("write", 400, kMib, kMs, "/scratch/data", 1);
  calls("write", 40, kMib, kMs);
  ASSERT_TRUE(has("one-rank"));
  calls("write", 400, kMib, kMs);
  EXPECT_FALSE(has("one-rank"));
}

TEST_F(Advice, OneRankWithLittleDataIsNone) {
  calls("write", 40, kMib, kMs, "/scratch/data", 1);
  EXPECT_FALSE(has("one-rank"));
  settings_.one_rank_bytes = 40.0 * kMib;
  ASSERT_TRUE(has("one-rank"));
  EXPECT_NE(textOf(found()).find("Rank 1 moves 100 % of all bytes"), std::string::npos);
}

TEST_F(Advice, WhatHasNoRankIsNotTheOneRank) {
  addTo(groupOf(by_rank_, "none"), 400, kMib, kMs, Class::kWrite);
  EXPECT_FALSE(has("one-rank"));
}

TEST_F(Advice, ManyOpens) {
  calls("open", 400, 0, kMs / 100);
  groupOf(by_file_, "/scratch/data").ranks = 4;
  EXPECT_TRUE(has("many-opens"));
  groupOf(by_file_, "/scratch/data").ranks = 400;
  EXPECT_FALSE(has("many-opens")) << "each rank opens it once";
  groupOf(by_file_, "/scratch/data").ranks = 4;
  groupOf(by_file_, "/scratch/data").failed = 400;
  EXPECT_FALSE(has("many-opens")) << "it is not there";
}

TEST_F(Advice, SmallFiles) {
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(i >= 999 && has("small-files"), false);
    calls("write", 4, 70'000, kMs / 100, "/scratch/" + std::to_string(i));
  }
  EXPECT_TRUE(has("small-files"));
  settings_.small_file_bytes = 100'000;
  EXPECT_FALSE(has("small-files"));
}

TEST_F(Advice, IndependentMpiIo) {
  calls("MPI_File_write_at", 400, 100'000, kMs);
  EXPECT_TRUE(has("independent-mpi-io"));
  calls("MPI_File_write_at_all", 400, 100'000, kMs);
  EXPECT_FALSE(has("independent-mpi-io"));
}

TEST_F(Advice, LargeIndependentMpiIoIsNone) {
  calls("MPI_File_write_at", 400, 4 * kMib, kMs);
  EXPECT_FALSE(has("independent-mpi-io"));
}

TEST_F(Advice, FailedCalls) {
  calls("open", 400, 0, kMs / 100, "/lib/none");
  groupOf(by_call_, "open").failed = 200;
  EXPECT_TRUE(has("failed-calls"));
  groupOf(by_call_, "open").failed = 110;
  EXPECT_FALSE(has("failed-calls"));
}

TEST_F(Advice, WaitingForRanks) {
  by_rank_.ranks[1].io.waiting_ns = 300 * kMs;
  EXPECT_TRUE(has("waiting-for-ranks"));
  by_rank_.ranks[1].io.waiting_ns = 100 * kMs;
  EXPECT_FALSE(has("waiting-for-ranks"));
}

TEST_F(Advice, NotSeen) {
  by_file_.wholeness.bytes.seen.written = kMib;
  by_file_.wholeness.bytes.unseen.written = kMib;
  EXPECT_TRUE(has("not-seen"));
  by_file_.wholeness.bytes.unseen.written = kMib / 20;
  EXPECT_FALSE(has("not-seen"));
}

TEST_F(Advice, UnevenBytes) {
  calls("write", 40, 4 * kMib, kMs);
  EXPECT_FALSE(has("uneven-bytes"));
  calls("write", 40, 4 * kMib, kMs, "/scratch/more", 2);
  EXPECT_TRUE(has("uneven-bytes"));
  EXPECT_FALSE(has("one-rank"));
  settings_.one_rank_bytes = 1e12;
  EXPECT_FALSE(has("uneven-bytes"));
}

TEST_F(Advice, Misaligned) {
  calls("write", 400, kMib, kMs);
  stats::AccessPattern& pattern = by_file_.groups[0].pattern;
  pattern.write = {.placed = 400, .first = 400, .checked = 400, .misaligned = 199};
  EXPECT_FALSE(has("misaligned"));
  pattern.write.misaligned = 300;
  ASSERT_TRUE(has("misaligned"));
  EXPECT_NE(found().front().title.find("300 of 400 requests of 1 file"), std::string::npos);
}

TEST_F(Advice, SmallRequestsAreNotMisaligned) {
  calls("write", 400, 100, kMs);
  by_file_.groups[0].pattern.write = {
      .placed = 400, .first = 400, .checked = 400, .misaligned = 399};
  EXPECT_FALSE(has("misaligned"));
}

TEST_F(Advice, Random) {
  calls("read", 400, 64 << 10, kMs);
  stats::AccessPattern& pattern = by_file_.groups[0].pattern;
  pattern.read = {.placed = 400, .first = 4, .consecutive = 0, .forward = 200};
  EXPECT_FALSE(has("random"));
  pattern.read.forward = 190;
  EXPECT_TRUE(has("random"));
}

TEST_F(Advice, LargeRequestsMayGoAnywhere) {
  calls("read", 400, 8 * kMib, kMs);
  by_file_.groups[0].pattern.read = {.placed = 400, .first = 4};
  EXPECT_FALSE(has("random"));
}

TEST_F(Advice, RedundantReads) {
  calls("read", 400, kMib, kMs);
  stats::AccessPattern& pattern = by_file_.groups[0].pattern;
  pattern.read_begin = 0;
  pattern.read_bytes = 400 * kMib;
  pattern.read_end = 400 * kMib;
  EXPECT_FALSE(has("redundant-reads"));
  pattern.read_end = 100 * kMib;
  pattern.reread_bytes = 20 * kMib;
  ASSERT_TRUE(has("redundant-reads"));
  EXPECT_NE(found().front().evidence.front().find("20"), std::string::npos);
  pattern.read_bytes = 110 * kMib;  // 10 MiB again
  EXPECT_FALSE(has("redundant-reads"));
}

TEST_F(Advice, ReadAfterWrite) {
  calls("pwrite", 400, 4096, kMs);
  calls("pread", 400, 4096, kMs);
  stats::AccessPattern& pattern = by_file_.groups[0].pattern;
  pattern.read.placed = 400;
  pattern.read_back = 100;
  pattern.read_back_bytes = 100 * 4096;
  EXPECT_FALSE(has("read-after-write"));
  pattern.read_back = 200;
  pattern.read_back_bytes = 200 * 4096;
  EXPECT_TRUE(has("read-after-write"));
  pattern.read_back_bytes = 200 * kMib;  // large pieces
  EXPECT_FALSE(has("read-after-write"));
}

TEST_F(Advice, LockContention) {
  calls("write", 400, kMib, kMs);
  stats::AccessPattern& pattern = by_file_.groups[0].pattern;
  pattern.locks = 400;
  pattern.locks_ns = kMs;
  EXPECT_FALSE(has("lock-contention"));
  pattern.locks_refused = 200;
  EXPECT_TRUE(has("lock-contention"));
  pattern.locks_refused = 0;
  pattern.locks_ns = 200 * kMs;
  EXPECT_TRUE(has("lock-contention"));
}

TEST_F(Advice, TinyBuffers) {
  calls("fwrite", 400, 40, kMs);
  EXPECT_FALSE(has("tiny-buffers"));
  by_file_.groups[0].pattern.tiny_buffered = 400;
  EXPECT_TRUE(has("tiny-buffers"));
}

TEST_F(Advice, ThresholdsOfZeroFindNothingWhereNothingIs) {
  settings_ = {.small_bytes = 0,
               .small_share = 0,
               .least_calls = 0,
               .metadata_share = 0,
               .sync_share = 0,
               .sync_bytes = 0,
               .waiting_share = 0,
               .imbalance = 0,
               .one_rank_share = 0,
               .one_rank_bytes = 0,
               .opens_each = 0,
               .small_file_bytes = 0,
               .small_files = 0,
               .failed_share = 0,
               .alignment_bytes = 0,
               .misaligned_share = 0,
               .random_share = 0,
               .random_bytes = 0,
               .reread_share = 0,
               .reread_bytes = 0,
               .read_back_share = 0,
               .lock_share = 0,
               .refused_share = 0,
               .unseen_share = 0,
               .least_io_share = 0};
  for (const Finding& finding : found()) {
    EXPECT_TRUE(finding.code == "rank-imbalance" || finding.code == "waiting-for-ranks")
        << finding.code;
  }
}

TEST_F(Advice, LittleIoIsNoMatter) {
  calls("write", 400, 4096, kMs);
  for (stats::RankTime& rank : by_rank_.ranks) rank.io.data_ns = kMs;
  EXPECT_TRUE(found().empty());
}

TEST_F(Advice, GravestFirst) {
  calls("write", 400, 4096, kMs);
  by_rank_.ranks[3].io.data_ns = 640 * kMs;
  by_rank_.ranks[3].io.waiting_ns = 250 * kMs;
  const std::vector<Finding> findings = found();
  ASSERT_GE(findings.size(), 2U);
  EXPECT_TRUE(std::ranges::is_sorted(findings, std::greater<>(), &Finding::run_share));
}

TEST(AdviceSettings, TheFileOfThresholdsSaysWhatHoldsWithoutIt) {
  const auto read = readAdviceSettings(OMNIO_CONFIGS "/advice.toml");
  ASSERT_TRUE(read) << read.failure().sentence;
  EXPECT_EQ(*read, AdviceSettings());
  const auto lines = base::readConfigLines(OMNIO_CONFIGS "/advice.toml");
  std::set<std::string> names;
  for (const base::ConfigLine& line : *lines) names.insert(line.name);
  EXPECT_EQ(names.size(), sizeof(AdviceSettings) / sizeof(double)) << "each has its line";
}

TEST(AdviceSettings, WhatIsNoThresholdIsRefused) {
  const test::TemporaryDirectory directory;
  const auto sentenceOf = [&](const std::string& text) {
    test::writeAll(directory / "a.toml", text);
    const auto read = readAdviceSettings(directory / "a.toml");
    return read ? std::string() : read.failure().sentence;
  };
  EXPECT_EQ(sentenceOf("# nothing\nimbalance = 2\n"), "");
  EXPECT_NE(sentenceOf("\nbalance = 2\n").find("line 2: balance is not a threshold"),
            std::string::npos);
  EXPECT_NE(sentenceOf("imbalance = two\n").find("needs a number"), std::string::npos);
  EXPECT_NE(sentenceOf("imbalance = -1\n").find("needs a number"), std::string::npos);
  EXPECT_NE(readAdviceSettings(directory / "none").failure().sentence.find("none"),
            std::string::npos);
}

}  // namespace
}  // namespace omnio::report
