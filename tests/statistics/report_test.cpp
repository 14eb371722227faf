#include "statistics/report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/text_table.hpp"
#include "core/wire/info.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::stats {
namespace {

using test::ChunkBuilder;
using test::EventSpec;

constexpr std::uint64_t kToken = 500;

// Rank `rank`: opens (once in vain), writes 1 and 3 MiB in 1 and 3 ms, a failed write, reads to the
// end of the file, closes; below the second write a library's own write.
void saveRank(const test::TemporaryDirectory& directory, int rank, int ranks,
              const char* event_cost_ps = nullptr) {
  constexpr std::uint64_t kMs = 1'000'000;
  constexpr std::int64_t kMib = 1 << 20;
  const std::uint64_t token = kToken + static_cast<std::uint64_t>(rank);
  ChunkBuilder chunk(token, 0, 0, 0, 0);
  const std::string path = fmt::format("/data/rank{}", rank);
  chunk.text(0, path).text(1, "/data/none");
  chunk.handle({.handle = 1, .fd = 3, .text_slot = 0});
  std::uint64_t now = 0;
  const auto event = [&](std::string_view symbol, EventSpec spec, std::uint64_t ms) {
    spec.start = now;
    spec.end = now + ms * kMs;
    now = spec.end;
    chunk.event(test::numberOf(symbol), spec);
  };
  const auto write = [&](std::int64_t bytes, EventSpec spec, std::uint64_t ms) {
    spec.arguments = {1, 0, bytes};
    spec.request = static_cast<std::uint64_t>(bytes);
    event("write", spec, ms);
  };
  event("open", {.arguments = {2, 0, 0}, .result = 2, .failed = true}, 1);
  event("open", {.arguments = {1, 1, 0}, .result = 2}, 2);
  write(kMib, {.result = kMib}, 1);
  write(3 * kMib, {.result = 3 * kMib}, 3);
  write(100, {.result = 100, .depth = 1}, 1);
  write(kMib, {.result = 28, .failed = true}, 4);
  event("fgetc", {.arguments = {1}, .result = 65}, 0);
  event("fgetc", {.arguments = {1}, .failed = true}, 0);  // the end of the file
  event("close", {.arguments = {1}}, 1);
  test::ContainerBuilder container(token, static_cast<std::uint32_t>(100 + rank));
  auto facts = test::usualFacts(rank, ranks);
  if (event_cost_ps != nullptr) facts[wire::info::kEventCost] = event_cost_ps;
  container.facts(facts).chunk(chunk).ended(chunk.header.event_count);
  container.save(directory / fmt::format("node1.{}.0.omnio", 100 + rank));
}

class ReportTest : public testing::Test {
 protected:
  void SetUp() override {
    saveRank(directory_, 0, 2);
    saveRank(directory_, 1, 2);
  }
  Report report(By by, const Selection& selection = {}) {
    const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_.path());
    return *makeReport(*trace, by, selection);
  }
  test::TemporaryDirectory directory_;
};

TEST_F(ReportTest, AFileHasItsOperationsSizesTimesAndBandwidth) {
  const Report r = report(By::kFile);
  ASSERT_EQ(r.groups.size(), 3U);
  const Group& file = r.groups[0];
  EXPECT_EQ(file.name, "/data/rank0");
  EXPECT_EQ(file.of(calls::Class::kOpen), 1U);
  EXPECT_EQ(file.of(calls::Class::kWrite), 3U);
  EXPECT_EQ(file.of(calls::Class::kRead), 2U);
  EXPECT_EQ(file.of(calls::Class::kClose), 1U);
  EXPECT_EQ(file.failed, 1U);
  EXPECT_EQ(file.write.size_bytes.count, 2U);
  EXPECT_EQ(file.write.size_bytes.total, 4U << 20);
  EXPECT_EQ(file.write.size_bytes.least, 1U << 20);
  EXPECT_EQ(file.write.size_bytes.most, 3U << 20);
  EXPECT_DOUBLE_EQ(file.write.size_bytes.average(), 2 << 20);
  EXPECT_EQ(file.write.time_ns.count, 3U);
  EXPECT_EQ(file.write.time_ns.total, 8'000'000U);
  EXPECT_DOUBLE_EQ(file.write.bandwidthMibS(), 500.0);  // 4 MiB in 8 ms
  EXPECT_DOUBLE_EQ(file.write.least_mib_s, 1000.0);     // 1 MiB in 1 ms, 3 MiB in 3 ms
  EXPECT_DOUBLE_EQ(file.write.most_mib_s, 1000.0);
  EXPECT_DOUBLE_EQ(file.write.size_bytes.moments.deviation(), 1 << 20);
  EXPECT_EQ(file.timesOf(calls::Class::kOpen),
            (Range{.count = 1, .total = 2'000'000, .least = 2'000'000, .most = 2'000'000}));
  EXPECT_EQ(file.read.size_bytes.total, 1U);
  EXPECT_EQ(file.read.size_bytes.least, 0U);  // the end of the file moved nothing
  EXPECT_EQ(r.groups[2].name, "/data/none");
  EXPECT_EQ(r.groups[2].of(calls::Class::kOpen), 2U);
  EXPECT_EQ(r.groups[2].failed, 2U);
  EXPECT_EQ(r.events_below, 2U);
  EXPECT_EQ(r.wholeness.events, 18U);
  EXPECT_TRUE(r.wholeness.whole);
}

TEST_F(ReportTest, TheOtherGroupsAddUpToTheSameTotal) {
  const Report files = report(By::kFile);
  for (const By by : {By::kRank, By::kThread, By::kCall}) {
    const Report r = report(by);
    Group sum;
    for (const Group& group : r.groups) {
      sum.time_ns.total += group.time_ns.total;
      sum.write.size_bytes.total += group.write.size_bytes.total;
    }
    EXPECT_EQ(sum.time_ns.total, files.total.time_ns.total) << nameOf(by);
    EXPECT_EQ(sum.write.size_bytes.total, files.total.write.size_bytes.total) << nameOf(by);
    EXPECT_EQ(r.total.times_ns, files.total.times_ns) << nameOf(by);
  }
}

TEST_F(ReportTest, GroupsAreNamed) {
  const auto names = [this](By by) {
    std::string all;
    for (const Group& group : report(by).groups) all += group.name + ";";
    return all;
  };
  EXPECT_EQ(names(By::kRank), "0;1;");
  EXPECT_EQ(names(By::kThread),
            "rank 0 thread 0 (host node1, pid 100, tid 5000);"
            "rank 1 thread 0 (host node1, pid 101, tid 5000);");
  EXPECT_EQ(names(By::kCall), "write;open;close;fgetc;");
}

TEST_F(ReportTest, OneRankAlone) {
  const Report r = report(By::kCall, {.rank = 1});
  EXPECT_EQ(r.total.of(calls::Class::kWrite), 3U);
  EXPECT_EQ(r.wholeness.events, 18U) << "whether the trace is whole is asked of all of it";
}

TEST_F(ReportTest, OnlyCallsOnFilesLikeThePatternCount) {
  EXPECT_EQ(report(By::kFile, {.patterns = {"rank0"}}).total.of(calls::Class::kWrite), 3U);
  EXPECT_EQ(report(By::kFile, {.patterns = {"/data/rank?"}}).total.of(calls::Class::kWrite), 6U);
  const Report two = report(By::kFile, {.patterns = {"none", "/data/*1"}});
  ASSERT_EQ(two.groups.size(), 2U);
  EXPECT_EQ(two.groups[0].name, "/data/rank1");
  EXPECT_EQ(two.groups[1].name, "/data/none");
  const Report nothing = report(By::kRank, {.patterns = {"/elsewhere"}});
  EXPECT_EQ(nothing.total.events(), 0U);
  EXPECT_EQ(nothing.groups.size(), 2U) << "a rank without events is a finding too";
}

TEST_F(ReportTest, OnlyCallsThatBeginInTheWindowCount) {
  constexpr std::int64_t kMs = 1'000'000;
  // Both writes that succeed, of each rank: from 3 to 4 and from 4 to 7 ms.
  const Report r = report(By::kCall, {.window = Window{3 * kMs, 5 * kMs}});
  ASSERT_EQ(r.groups.size(), 1U);
  EXPECT_EQ(r.groups[0].name, "write");
  EXPECT_EQ(r.total.write.time_ns.total, 8U * kMs);
  EXPECT_EQ(r.events_below, 0U) << "which of these are in the window is not looked at";
  std::uint64_t writes = 0;
  for (const Window& window : {Window{0, 4 * kMs}, Window{4 * kMs, {}}}) {
    writes += report(By::kCall, {.window = window}).total.of(calls::Class::kWrite);
  }
  EXPECT_EQ(writes, 6U);
}

TEST_F(ReportTest, OnlyCallsOfTheThreadCount) {
  EXPECT_EQ(report(By::kThread, {.thread = 0}).total.events(), 16U);
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_.path());
  EXPECT_FALSE(makeReport(*trace, By::kThread, {.thread = 1})) << "there is none";
}

TEST_F(ReportTest, ARankHasItsIoTime) {
  const Report r = report(By::kFile);
  ASSERT_EQ(r.ranks.size(), 2U);
  EXPECT_EQ(r.ranks[1].rank, 1);
  EXPECT_EQ(r.ranks[1].io.data_ns, 8'000'000);
  EXPECT_EQ(r.ranks[1].io.metadata_ns, 4'000'000);
  EXPECT_EQ(r.ranks[1].io.total(), 12'000'000);
  EXPECT_EQ(r.ranks[1].run_ns, 13'000'000) << "with the library's write between";
}

TEST_F(ReportTest, PercentilesAreThoseOfAllCalls) {
  const Summary& time = report(By::kFile).total.write.time_ns;  // of 1, 3 and 4 ms, twice
  EXPECT_EQ(time.quantile(1), 4'000'000U);
  EXPECT_GE(time.quantile(0.5), 3'000'000U);
  EXPECT_LE(time.quantile(0.5), 3'000'000U * 9 / 8);
}

TEST_F(ReportTest, AHistogramHasABarForEachPowerOfTwo) {
  const std::string text = textOf(report(By::kFile), true);
  const std::size_t at = text.find("Histogram: size of writes\n");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.substr(at, text.find("\n\n", at) - at),
            "Histogram: size of writes\n"
            "    from     below  calls   share\n"
            "1.00 MiB  2.00 MiB      2  50.0 %  ########################################\n"
            "2.00 MiB  4.00 MiB      2  50.0 %  ########################################");
}

TEST_F(ReportTest, FilesSayHowManyRanksUsedThem) {
  const Report r = report(By::kFile);
  ASSERT_EQ(r.groups.size(), 3U);
  for (const Group& group : r.groups) {
    EXPECT_EQ(group.ranks, group.name == "/data/none" ? 2U : 1U) << group.name;
  }
}

TEST_F(ReportTest, SeveralKindsInOnePassAreThoseOfOneEach) {
  const auto trace = tracefile::Trace::open(directory_.path());
  const std::vector<By> kinds = {By::kFile, By::kCall, By::kRank, By::kThread};
  const auto together = makeReports(*trace, kinds);
  ASSERT_EQ(together->size(), kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_EQ(jsonOf((*together)[i]), jsonOf(*makeReport(*trace, kinds[i])));
  }
}

TEST_F(ReportTest, TheCsvHasALineForEachGroupAndQuotesNames) {
  Report r = report(By::kFile);
  r.groups[0].name = "/a,\"b\"";
  const std::string csv = csvOf(r);
  EXPECT_EQ(csv.substr(0, csv.find(',', 5)), "file,ranks");
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < csv.size();) {
    const std::size_t end = csv.find('\n', at);
    lines.push_back(csv.substr(at, end - at));
    at = end + 1;
  }
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(csv.find('\r'), std::string::npos);
  EXPECT_EQ(csv.back(), '\n');
  EXPECT_TRUE(lines[1].starts_with("\"/a,\"\"b\"\"\",1,1,1,2,3,")) << lines[1];
  const auto commas = [](const std::string& line) { return std::ranges::count(line, ','); };
  EXPECT_EQ(commas(lines[1]), commas(lines[0]) + 1) << "one of these is in the name";
  EXPECT_EQ(commas(lines[2]), commas(lines[0]));
}

TEST(RecordingCost, IsThatOfAllEventsShownAndBelowThem) {
  const test::TemporaryDirectory directory;
  saveRank(directory, 0, 3, "30500");
  saveRank(directory, 1, 3, "20000");
  saveRank(directory, 2, 3, "18446744073709551615");  // damaged
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory.path());
  const Report r = *makeReport(*trace, By::kFile);
  EXPECT_DOUBLE_EQ(r.recording_ns, 9 * 30.5 + 9 * 20.0);
  EXPECT_NE(textOf(r).find("Recording took at least 454 ns of the application's time"),
            std::string::npos)
      << textOf(r);
  EXPECT_DOUBLE_EQ(makeReport(*trace, By::kRank, {.rank = 1})->recording_ns, 180);
}

TEST_F(ReportTest, TheTextIsATable) {
  Report r = report(By::kFile);
  r.trace = "TRACE";
  EXPECT_EQ(
      textOf(r),
      "Trace TRACE: 18 events, 2 processes, 2 of 2 ranks\n"
      "Whole: yes; no events are missing\n"
      "Left out: 2 calls made by libraries below the application's own calls\n"
      "I/O time: 12.0 ms on the slowest rank (0), 92.3 % of its 13.0 ms: 8.00 ms data, "
      "4.00 ms metadata, 0 ns sync\n"
      "  12.0 ms on average over 2 ranks; the slowest has 1.00 times that\n"
      "\n"
      "Operations on files, and the time spent in them\n"
      "open  close  read  write  failed     time      min      avg      max  file\n"
      "   1      1     2      3       1  11.0 ms     0 ns  1.57 ms  4.00 ms  /data/rank0\n"
      "   1      1     2      3       1  11.0 ms     0 ns  1.57 ms  4.00 ms  /data/rank1\n"
      "   2      -     -      -       2  2.00 ms  1.00 ms  1.00 ms  1.00 ms  /data/none\n"
      "   4      2     4      6       4  24.0 ms     0 ns  1.50 ms  4.00 ms  total\n"
      "3 files: 2 used by one rank, 1 shared by several\n"
      "\n"
      "Times of the operations, by their kind\n"
      "calls     time      min      avg      max  kind\n"
      "    4  6.00 ms  1.00 ms  1.50 ms  2.00 ms  open\n"
      "    2  2.00 ms  1.00 ms  1.00 ms  1.00 ms  close\n"
      "    4     0 ns     0 ns     0 ns     0 ns  read\n"
      "    6  16.0 ms  1.00 ms  2.67 ms  4.00 ms  write\n"
      "\n"
      "Reads (bandwidth: bytes by the time spent in the calls; min and max: of single calls)\n"
      "calls  bytes  min  avg  max  std dev  time   min   avg   max   bandwidth  min  max  file\n"
      "    2    1 B  0 B  0 B  1 B      0 B  0 ns  0 ns  0 ns  0 ns  0.00 MiB/s    -    -  "
      "/data/rank0\n"
      "    2    1 B  0 B  0 B  1 B      0 B  0 ns  0 ns  0 ns  0 ns  0.00 MiB/s    -    -  "
      "/data/rank1\n"
      "    4    2 B  0 B  0 B  1 B      0 B  0 ns  0 ns  0 ns  0 ns  0.00 MiB/s    -    -  "
      "total\n"
      "\n"
      "Writes (bandwidth: bytes by the time spent in the calls; min and max: of single calls)\n"
      "calls     bytes       min       avg       max   std dev     time      min      avg      max"
      "  bandwidth         min         max  file\n"
      "    3  4.00 MiB  1.00 MiB  2.00 MiB  3.00 MiB  1.00 MiB  8.00 ms  1.00 ms  2.67 ms  4.00 ms"
      "  500 MiB/s  1000 MiB/s  1000 MiB/s  /data/rank0\n"
      "    3  4.00 MiB  1.00 MiB  2.00 MiB  3.00 MiB  1.00 MiB  8.00 ms  1.00 ms  2.67 ms  4.00 ms"
      "  500 MiB/s  1000 MiB/s  1000 MiB/s  /data/rank1\n"
      "    6  8.00 MiB  1.00 MiB  2.00 MiB  3.00 MiB  1.00 MiB  16.0 ms  1.00 ms  2.67 ms  4.00 ms"
      "  500 MiB/s  1000 MiB/s  1000 MiB/s  total\n"
      "\n"
      "Percentiles (at most an eighth too large)\n"
      "calls       p50       p90       p99     p99.9       max  of all\n"
      "    4       0 B       1 B       1 B       1 B       1 B  size of reads\n"
      "    4      0 ns      0 ns      0 ns      0 ns      0 ns  time of reads\n"
      "    4  1.12 MiB  3.00 MiB  3.00 MiB  3.00 MiB  3.00 MiB  size of writes\n"
      "    6   3.15 ms   4.00 ms   4.00 ms   4.00 ms   4.00 ms  time of writes\n");
}

TEST_F(ReportTest, TheJsonDocumentHasWhatTheManualSays) {
  rapidjson::Document document;
  const std::string json = jsonOf(report(By::kFile));
  ASSERT_FALSE(document.Parse(json.c_str()).HasParseError());
  EXPECT_STREQ(document["format"].GetString(), "omnio-stats");
  EXPECT_EQ(document["version"].GetInt(), 1);
  EXPECT_TRUE(document["trace"]["whole"].GetBool());
  EXPECT_EQ(document["trace"]["ranks_expected"].GetInt(), 2);
  EXPECT_EQ(document["trace"]["ranks_reporting"].GetInt(), 2);
  EXPECT_EQ(document["trace"]["events"].GetInt(), 18);
  EXPECT_EQ(document["trace"]["events_missing"].GetInt(), 0);
  EXPECT_EQ(document["trace"]["reasons"].Size(), 0U);
  EXPECT_STREQ(document["by"].GetString(), "file");
  const auto& group = document["groups"][0];
  EXPECT_STREQ(group["name"].GetString(), "/data/rank0");
  EXPECT_EQ(group["operations"]["write"].GetInt(), 3);
  EXPECT_EQ(group["write"]["size_bytes"]["total"].GetInt(), 4 << 20);
  EXPECT_EQ(group["write"]["time_ns"]["max"].GetInt(), 4'000'000);
  EXPECT_DOUBLE_EQ(group["write"]["bandwidth_mib_s"].GetDouble(), 500.0);
  EXPECT_DOUBLE_EQ(group["write"]["bandwidth_min_mib_s"].GetDouble(), 1000.0);
  EXPECT_DOUBLE_EQ(group["write"]["bandwidth_max_mib_s"].GetDouble(), 1000.0);
  EXPECT_DOUBLE_EQ(group["write"]["size_bytes"]["standard_deviation"].GetDouble(), 1 << 20);
  EXPECT_EQ(group["time_ns"]["count"].GetInt(), 7);
  const auto& kinds = document["total"]["time_by_kind_ns"];
  EXPECT_EQ(kinds.MemberCount(), 4U);
  EXPECT_EQ(kinds["open"]["count"].GetInt(), 4);
  EXPECT_EQ(kinds["open"]["min"].GetInt(), 1'000'000);
  EXPECT_EQ(kinds["open"]["max"].GetInt(), 2'000'000);
  EXPECT_DOUBLE_EQ(kinds["open"]["average"].GetDouble(), 1'500'000);
}

// Each rank has writes of other sizes and bandwidths, and a call of no bytes, which has none.
TEST(StatsReport, DeviationsAndBandwidthsAreThoseOfAllRanks) {
  const test::TemporaryDirectory directory;
  for (int rank = 0; rank < 3; ++rank) {
    const std::uint64_t token = kToken + static_cast<std::uint64_t>(rank);
    ChunkBuilder chunk(token, 0, 0, 0, 0);
    chunk.text(0, "/data/shared").handle({.handle = 1, .fd = 3, .text_slot = 0});
    for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1 << 20} << rank}) {
      const auto start = static_cast<std::uint64_t>(bytes);
      chunk.event(test::numberOf("write"), {.start = start,
                                            .end = start + 1'000'000,
                                            .arguments = {1, 0, bytes},
                                            .request = static_cast<std::uint64_t>(bytes),
                                            .result = bytes});
    }
    test::ContainerBuilder container(token, static_cast<std::uint32_t>(100 + rank));
    container.facts(test::usualFacts(rank, 3)).chunk(chunk).ended(chunk.header.event_count);
    container.save(directory / fmt::format("node1.{}.0.omnio", 100 + rank));
  }
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory.path());
  for (const By by : {By::kFile, By::kRank, By::kCall}) {
    const Transfer write = makeReport(*trace, by)->total.write;
    // 0, 0, 0, 1, 2 and 4 MiB: the mean of the squares is 21 / 6, that of the sizes 7 / 6.
    EXPECT_DOUBLE_EQ(write.size_bytes.moments.deviation(), (1 << 20) * std::sqrt(77.0 / 36))
        << nameOf(by);
    EXPECT_DOUBLE_EQ(write.least_mib_s, 1000.0) << nameOf(by);
    EXPECT_DOUBLE_EQ(write.bandwidthMibS(), 7000.0 / 6) << nameOf(by);
    EXPECT_DOUBLE_EQ(write.most_mib_s, 4000.0) << nameOf(by);
  }
}

TEST(StatsReport, WhatIsMissingIsSaidFirst) {
  const test::TemporaryDirectory directory;
  test::ContainerBuilder container(kToken, 100);
  container.facts(test::usualFacts(0, 2)).ended(0, 12, 28);
  container.save(directory / "node1.100.0.omnio");
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory.path());
  Report r = *makeReport(*trace, By::kFile);
  r.trace = "TRACE";
  EXPECT_EQ(textOf(r),
            "Trace TRACE: 0 events, 1 process, 1 of 2 ranks\n"
            "Whole: no; 12 events are missing\n"
            "  - rank 1 of 2 did not report\n"
            "  - 12 events of process 100 on host node1 were dropped: No space left on device\n");
}

TEST(StatsReport, MpiIoCountsTheBytesThatWereWrittenAndGot) {
  const test::TemporaryDirectory directory;
  ChunkBuilder chunk(kToken, 0, 0, 0, 0);
  chunk.text(0, "/data/shared");
  chunk.handle({.handle = 1, .text_slot = 0});
  std::uint64_t now = 0;
  const auto event = [&](std::string_view symbol, EventSpec spec) {
    spec.start = now;
    spec.end = now += 1000;
    chunk.event(test::numberOf(symbol), spec);
  };
  event("MPI_File_open", {.arguments = {1, 9, 4, 1}});
  // What is called within a call comes before it.
  event("pwrite", {.arguments = {1, 0, 1600, 0}, .request = 1600, .result = 1600, .depth = 1});
  now -= 1000;
  event("MPI_File_write_at_all", {.arguments = {1, 5, 400, 2}, .request = 400});
  event("PMPI_File_write",
        {.arguments = {1, 400, 3}, .request = 400, .result = 36, .failed = true});
  event("MPI_File_read", {.arguments = {1, 400, 250, 4}, .request = 400});
  event("MPI_File_close", {.arguments = {1, 5}});
  test::ContainerBuilder container(kToken, 100);
  container.facts(test::usualFacts()).chunk(chunk).ended(chunk.header.event_count);
  container.save(directory / "node1.100.0.omnio");
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory.path());
  const Report r = *makeReport(*trace, By::kFile);
  ASSERT_EQ(r.groups.size(), 1U);
  const Group& file = r.groups[0];
  EXPECT_EQ(file.name, "/data/shared");
  EXPECT_EQ(file.of(calls::Class::kOpen), 1U);
  EXPECT_EQ(file.of(calls::Class::kClose), 1U);
  EXPECT_EQ(file.of(calls::Class::kWrite), 2U);
  EXPECT_EQ(file.failed, 1U);
  EXPECT_EQ(file.write.size_bytes.count, 1U);
  EXPECT_EQ(file.write.size_bytes.total, 400U);
  EXPECT_EQ(file.read.size_bytes.total, 250U);
  EXPECT_EQ(r.events_below, 1U);
  const Report posix = *makeReport(*trace, By::kCall, {.layer = Layer::kPosix});
  ASSERT_EQ(posix.groups.size(), 1U) << "what MPI-IO did through POSIX, in place of its own calls";
  EXPECT_EQ(posix.groups[0].name, "pwrite");
  EXPECT_EQ(posix.total.write.size_bytes.total, 1600U);
}

// Two logs, the one with the ends first: a request of each is found complete in the other.
TEST(StatsReport, NonblockingAndSplitReadsCountWhatTheyGot) {
  const test::TemporaryDirectory directory;
  test::ContainerBuilder container(kToken, 100);
  std::uint64_t now = 0;
  const auto event = [&now](ChunkBuilder& chunk, std::string_view symbol, EventSpec spec) {
    spec.start = now;
    spec.end = now += 1000;
    chunk.event(test::numberOf(symbol), spec);
  };
  const auto found = [&](ChunkBuilder& chunk, std::uint64_t request, std::uint64_t bytes) {
    event(chunk, "MPI_Wait", {.arguments = {2}, .pieces = {request << 2 | 2, bytes}});
  };
  const auto read = [&](ChunkBuilder& chunk, std::int64_t request) {
    event(chunk, "MPI_File_iread_at", {.arguments = {1, 0, 100, request, 1}, .request = 100});
  };
  ChunkBuilder first(kToken, 0, 0, 0, 0);
  ChunkBuilder second(kToken, 1, 0, 0, 0);
  for (ChunkBuilder* chunk : {&first, &second}) {
    chunk->text(0, "/data/shared").handle({.handle = 1, .text_slot = 0});
  }
  read(first, 8);
  found(first, 7, 60);
  read(second, 7);
  found(second, 8, 0);
  read(second, 9);  // never found complete
  read(second, 0);  // complete at once
  event(second, "MPI_File_read_all_begin", {.arguments = {1, 50, 1, 1, 1}, .request = 50});
  event(second, "MPI_File_read_all_end", {.arguments = {1, 31, 2}});
  container.facts(test::usualFacts()).chunk(first).chunk(second);
  container.ended(first.header.event_count + second.header.event_count);
  container.save(directory / "node1.100.0.omnio");
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory.path());
  for (const By by : {By::kFile, By::kRank, By::kCall}) {
    const Report r = *makeReport(*trace, by);
    EXPECT_EQ(r.total.read.time_ns.count, 5U) << nameOf(by);
    EXPECT_EQ(r.total.read.size_bytes.count, 4U) << nameOf(by);
    EXPECT_EQ(r.total.read.size_bytes.total, 60U + 0U + 100U + 31U) << nameOf(by);
    // All but the one that was complete at once, which got 100 bytes in 1 us.
    EXPECT_EQ(r.total.read.begins, 4U) << nameOf(by);
    EXPECT_EQ(r.total.read.begun_bytes, 60U + 0U + 31U) << nameOf(by);
    EXPECT_DOUBLE_EQ(r.total.read.bandwidthMibS(), 100.0 / 1048576.0 / 1e-6) << nameOf(by);
    std::uint64_t sum = 0;
    for (const Group& group : r.groups) sum += group.read.size_bytes.total;
    EXPECT_EQ(sum, r.total.read.size_bytes.total) << nameOf(by);
  }
}

// A nonblocking write, a split one and a blocking one of 4 MiB in 2 ms, and a failed MPI_Barrier.
TEST(StatsReport, CallsThatOnlyBeginATransferAreNotInTheBandwidth) {
  const test::TemporaryDirectory directory;
  constexpr std::uint64_t kMs = 1'000'000;
  constexpr std::int64_t kMib4 = 4 << 20;
  ChunkBuilder chunk(kToken, 0, 0, 0, 0);
  chunk.text(0, "/data/shared").handle({.handle = 1, .text_slot = 0});
  std::uint64_t now = 0;
  const auto event = [&](std::string_view symbol, EventSpec spec, std::uint64_t ms) {
    spec.start = now;
    spec.end = now += ms * kMs;
    spec.request = static_cast<std::uint64_t>(kMib4);
    chunk.event(test::numberOf(symbol), spec);
  };
  event("MPI_File_iwrite_at", {.arguments = {1, 0, kMib4, 7, 1}}, 1);
  event("MPI_File_write_all_begin", {.arguments = {1, kMib4, 1, 1, 2}}, 1);
  event("MPI_Barrier", {.arguments = {1, 1}, .result = 5, .failed = true}, 1);
  event("MPI_File_write_at", {.arguments = {1, 0, kMib4, 3}}, 2);
  test::ContainerBuilder container(kToken, 100);
  container.facts(test::usualFacts()).chunk(chunk).ended(chunk.header.event_count);
  container.save(directory / "node1.100.0.omnio");
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory.path());
  Report r = *makeReport(*trace, By::kCall);
  EXPECT_EQ(r.total.write.begins, 2U);
  EXPECT_DOUBLE_EQ(r.total.write.bandwidthMibS(), 2000.0);
  EXPECT_EQ(r.total.failed, 0U);
  EXPECT_EQ(r.total.mpi_sync_failed, 1U);
  r.trace = "TRACE";
  EXPECT_EQ(
      textOf(r),
      "Trace TRACE: 4 events, 1 process, 1 of 1 rank\n"
      "Whole: yes; no events are missing\n"
      "I/O time: 4.00 ms on the slowest rank (0), 80 % of its 5.00 ms: 4.00 ms data, "
      "0 ns metadata, 0 ns sync\n"
      "\n"
      "Operations on files, and the time spent in them\n"
      "write  failed     time      min      avg      max  call\n"
      "    1       -  2.00 ms  2.00 ms  2.00 ms  2.00 ms  MPI_File_write_at\n"
      "    1       -  1.00 ms  1.00 ms  1.00 ms  1.00 ms  MPI_File_iwrite_at\n"
      "    1       -  1.00 ms  1.00 ms  1.00 ms  1.00 ms  MPI_File_write_all_begin\n"
      "    3       -  4.00 ms  1.00 ms  1.33 ms  2.00 ms  total\n"
      "\n"
      "Times of the operations, by their kind\n"
      "calls     time      min      avg      max  kind\n"
      "    3  4.00 ms  1.00 ms  1.33 ms  2.00 ms  write\n"
      "\n"
      "Writes (bandwidth: bytes by the time spent in the calls; min and max: of single calls)\n"
      "calls     bytes       min       avg       max  std dev     time      min      avg      max"
      "   bandwidth         min         max  call\n"
      "    1  4.00 MiB  4.00 MiB  4.00 MiB  4.00 MiB      0 B  2.00 ms  2.00 ms  2.00 ms  2.00 ms"
      "  2000 MiB/s  2000 MiB/s  2000 MiB/s  MPI_File_write_at\n"
      "    1  4.00 MiB  4.00 MiB  4.00 MiB  4.00 MiB      0 B  1.00 ms  1.00 ms  1.00 ms  1.00 ms"
      "           -           -           -  MPI_File_iwrite_at\n"
      "    1  4.00 MiB  4.00 MiB  4.00 MiB  4.00 MiB      0 B  1.00 ms  1.00 ms  1.00 ms  1.00 ms"
      "           -           -           -  MPI_File_write_all_begin\n"
      "    3  12.0 MiB  4.00 MiB  4.00 MiB  4.00 MiB      0 B  4.00 ms  1.00 ms  1.33 ms  2.00 ms"
      "  2000 MiB/s  2000 MiB/s  2000 MiB/s  total\n"
      "2 calls only began a transfer (nonblocking or split MPI-IO): not in the bandwidth\n"
      "\n"
      "Percentiles (at most an eighth too large)\n"
      "calls       p50       p90       p99     p99.9       max  of all\n"
      "    3  4.00 MiB  4.00 MiB  4.00 MiB  4.00 MiB  4.00 MiB  size of writes\n"
      "    3   1.05 ms   2.00 ms   2.00 ms   2.00 ms   2.00 ms  time of writes\n"
      "\n"
      "MPI calls that order ranks (`omnio log --mpi` shows which rank waited for which)\n"
      "calls  failed     time      min      avg      max  call\n"
      "    1       1  1.00 ms  1.00 ms  1.00 ms  1.00 ms  MPI_Barrier\n");
}

// Recording was stopped between the begin and the end of the first, and of the third.
TEST(StatsReport, ASplitReadWithoutItsEndLeavesTheOthersTheirs) {
  const test::TemporaryDirectory directory;
  test::ContainerBuilder container(kToken, 100);
  ChunkBuilder chunk(kToken, 0, 0, 0, 0);
  chunk.text(0, "/data/shared").handle({.handle = 1, .text_slot = 0});
  std::uint64_t now = 0;
  const auto event = [&](std::string_view symbol, EventSpec spec) {
    spec.start = now;
    spec.end = now += 1000;
    chunk.event(test::numberOf(symbol), spec);
  };
  const auto begin = [&] {
    event("MPI_File_read_all_begin", {.arguments = {1, 50, 1, 1, 1}, .request = 50});
  };
  const auto end = [&](std::int64_t got) {
    event("MPI_File_read_all_end", {.arguments = {1, got, 2}});
  };
  begin();
  begin();
  end(20);
  end(40);
  begin();
  end(50);
  container.facts(test::usualFacts()).chunk(chunk).ended(chunk.header.event_count);
  container.save(directory / "node1.100.0.omnio");
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory.path());
  const Report r = *makeReport(*trace, By::kFile);
  EXPECT_EQ(r.total.read.time_ns.count, 3U);
  EXPECT_EQ(r.total.read.size_bytes.count, 2U);
  EXPECT_EQ(r.total.read.size_bytes.total, 20U + 50U);
}

// OMPIO writes by aio_write, and learns in MPI_Wait, which may be another thread's, that it is
// over. An aio_write of the application's own counts by itself.
TEST(StatsReport, OperationsBegunBelowMpiIoDoNotCountAgainWhereTheyEnd) {
  const test::TemporaryDirectory directory;
  test::ContainerBuilder container(kToken, 100);
  std::uint64_t now = 0;
  ChunkBuilder first(kToken, 0, 0, 0, 0);
  ChunkBuilder second(kToken, 1, 0, 0, 0);
  for (ChunkBuilder* chunk : {&first, &second}) {
    chunk->text(0, "/data/shared").handle({.handle = 1, .fd = 3, .text_slot = 0});
  }
  const auto event = [&now](ChunkBuilder& chunk, std::string_view symbol, EventSpec spec) {
    spec.start = now;
    spec.end = now += 1000;
    chunk.event(test::numberOf(symbol), spec);
  };
  const auto begin = [&](std::int64_t operation, unsigned depth) {
    event(first, "aio_write",
          {.arguments = {1, 100, 0, operation}, .request = 100, .depth = depth});
  };
  const auto end = [&](ChunkBuilder& chunk, std::int64_t operation) {
    event(chunk, "(aio_write_end)",
          {.arguments = {1, 100, 0, operation}, .request = 100, .result = 100});
  };
  for (const std::int64_t operation : {1, 2}) {
    begin(operation, 1);
    event(first, "MPI_File_iwrite_at", {.arguments = {1, 0, 100, operation, 1}, .request = 100});
  }
  begin(3, 0);
  end(first, 1);
  end(first, 3);
  end(second, 2);
  container.facts(test::usualFacts()).chunk(first).chunk(second);
  container.ended(first.header.event_count + second.header.event_count);
  container.save(directory / "node1.100.0.omnio");
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory.path());
  for (const By by : {By::kFile, By::kRank, By::kThread, By::kCall}) {
    const Report r = *makeReport(*trace, by);
    EXPECT_EQ(r.total.of(calls::Class::kWrite), 3U) << nameOf(by);
    EXPECT_EQ(r.total.of(calls::Class::kAsync), 1U) << nameOf(by);
    EXPECT_EQ(r.total.write.size_bytes.total, 300U) << nameOf(by);
    EXPECT_EQ(r.total.write.begun_bytes, 200U) << nameOf(by);
    EXPECT_EQ(r.total.time_ns.total, 4000U) << nameOf(by);
    EXPECT_EQ(r.events_below, 4U) << nameOf(by);
    std::uint64_t sum = 0;
    for (const Group& group : r.groups) sum += group.write.size_bytes.total;
    EXPECT_EQ(sum, 300U) << nameOf(by);
  }
}

// At the end of the file getline leaves errno as it was: 0, or that of an earlier call.
TEST(StatsReport, GetlineAtTheEndOfTheFileHasNotFailed) {
  const test::TemporaryDirectory directory;
  ChunkBuilder chunk(kToken, 0, 0, 0, 0);
  chunk.text(0, "/data/lines").handle({.handle = 1, .fd = 3, .text_slot = 0});
  std::uint64_t now = 0;
  const auto readLine = [&](std::string_view symbol, EventSpec spec) {
    const std::uint16_t number = test::numberOf(symbol);
    const int stream = calls::indexOf(*calls::find(number), calls::Role::kStream);
    spec.arguments[static_cast<std::size_t>(stream)] = 1;
    spec.start = now;
    spec.end = now += 1000;
    chunk.event(number, spec);
  };
  readLine("getline", {.result = 6});
  readLine("getline", {.failed = true});
  readLine("getline", {.result = ENOENT, .failed = true});
  readLine("getdelim", {.result = ENOTTY, .failed = true});
  readLine("getline", {.result = EIO, .failed = true});
  readLine("getdelim", {.result = EBADF, .failed = true});
  test::ContainerBuilder container(kToken, 100);
  container.facts(test::usualFacts()).chunk(chunk).ended(chunk.header.event_count);
  container.save(directory / "node1.100.0.omnio");
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory.path());
  const Report r = *makeReport(*trace, By::kFile);
  EXPECT_EQ(r.total.of(calls::Class::kRead), 6U);
  EXPECT_EQ(r.total.failed, 2U);
  EXPECT_EQ(r.total.read.size_bytes.count, 4U);
  EXPECT_EQ(r.total.read.size_bytes.total, 6U);
}

TEST(Human, UnitsChangeWhereTheDigitsDo) {
  EXPECT_EQ(base::humanBytes(0), "0 B");
  EXPECT_EQ(base::humanBytes(1023), "1023 B");
  EXPECT_EQ(base::humanBytes(1024), "1.00 KiB");
  EXPECT_EQ(base::humanBytes(10.0 * 1024), "10.0 KiB");
  EXPECT_EQ(base::humanBytes(1024.0 * 1024 - 1), "1.00 MiB");
  EXPECT_EQ(base::humanNs(999), "999 ns");
  EXPECT_EQ(base::humanNs(1000), "1.00 us");
  EXPECT_EQ(base::humanNs(999'999), "1.00 ms");
  EXPECT_EQ(base::humanNs(90e9), "90.0 s");
}

}  // namespace
}  // namespace omnio::stats
