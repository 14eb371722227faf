// What prefetching would do for a run, by traces whose reads and times are known.
#include "prefetch/simulation.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <random>
#include <string>
#include <vector>

#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::prefetch {
namespace {

constexpr std::int64_t kStride = std::int64_t{1} << 20;
constexpr std::int64_t kReadBytes = 64 << 10;
constexpr std::int64_t kMs = 1'000'000;
constexpr double kCopied = kCopyNs + kReadBytes / kCopyBytesPerNs;
constexpr int kReads = 200;
constexpr std::uint16_t kMapRead = 88;  // core/calls/posix.def: no symbol has it

// A rank that reads a file: computes, reads, computes ...
struct Reader {
  std::string file = "/data/field";
  std::int64_t bytes = kReadBytes;
  std::int64_t compute_ns = kMs;
  std::int64_t read_ns = kMs;
  std::int64_t begin_ns = 0;
  unsigned open_flags = O_RDONLY;
  bool writes = false;  // once, before the first read
};

template <typename OffsetOf>
void save(const test::TemporaryDirectory& directory, int rank, int ranks, const Reader& reader,
          OffsetOf offset_of) {
  const std::uint64_t token = test::kToken + static_cast<std::uint64_t>(rank);
  test::ChunkBuilder chunk(token, 0, 0, 0, 0);
  chunk.text(0, reader.file);
  chunk.handle({.handle = 1, .fd = 3, .open_flags = reader.open_flags, .text_slot = 0});
  std::int64_t now = reader.begin_ns;
  const auto call = [&](std::string_view symbol, std::int64_t offset, std::int64_t bytes,
                        std::int64_t duration_ns) {
    const auto start = static_cast<std::uint64_t>(now);
    now += duration_ns;
    chunk.event(test::numberOf(symbol), {.start = start,
                                         .end = static_cast<std::uint64_t>(now),
                                         .arguments = {1, 0, bytes, offset},
                                         .request = static_cast<std::uint64_t>(bytes),
                                         .result = bytes});
  };
  if (reader.writes) call("pwrite", 0, 1, 0);
  for (int i = 0; i < kReads; ++i) {
    if (i > 0) now += reader.compute_ns;
    call("pread", offset_of(i), reader.bytes, reader.read_ns);
  }
  test::ContainerBuilder container(token, static_cast<std::uint32_t>(100 + rank));
  container.facts(test::usualFacts(rank, ranks)).chunk(chunk);
  container.ended(chunk.header.event_count, 0);
  container.save(directory / fmt::format("node1.{}.0.omnio", 100 + rank));
}

std::int64_t strided(int i) { return (i + 1) * kStride; }

base::Result<Simulation> simulated(const test::TemporaryDirectory& directory,
                                   std::int64_t delay_ns = kUsualDelayNs) {
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory.path());
  return simulate(*trace, {}, delay_ns);
}

template <typename OffsetOf>
Gain gainOf(const Reader& reader, OffsetOf offset_of, std::int64_t delay_ns = kUsualDelayNs) {
  const test::TemporaryDirectory directory;
  save(directory, 0, 1, reader, offset_of);
  const base::Result<Simulation> simulation = simulated(directory, delay_ns);
  EXPECT_TRUE(simulation.ok());
  return simulation->total;
}

TEST(Simulation, StridedReadsAreHiddenButForTheFirst) {
  const Gain gain = gainOf({}, strided);
  EXPECT_EQ(gain.operations, std::uint64_t{kReads});
  EXPECT_EQ(gain.reads, std::uint64_t{kReads});
  EXPECT_EQ(gain.read_bytes, kReads * kReadBytes);
  EXPECT_EQ(gain.read_ns, kReads * kMs);
  EXPECT_GE(gain.used_bytes, (kReads - 6) * kReadBytes);
  EXPECT_LT(gain.used_bytes, (kReads - 3) * kReadBytes);
  EXPECT_LE(gain.wastedBytes(), 16 * kReadBytes);  // of the last plan
  EXPECT_EQ(gain.fetched_bytes, gain.used_bytes + gain.wastedBytes());
  const Gain::Clock& clock = gain.clocks[0];
  EXPECT_EQ(clock.computing_ns, (kReads - 1) * kMs);
  EXPECT_GE(clock.hidden_ns, (kReads - 8) * (kMs - kCopied));
  EXPECT_LT(clock.hidden_ns, (kReads - 3) * (kMs - kCopied));
  EXPECT_EQ(clock.run_ns, (2 * kReads - 1) * kMs);
  EXPECT_NEAR(clock.prefetched_run_ns, clock.run_ns - clock.hidden_ns, 1);
}

TEST(Simulation, OtherRatiosScaleWhatIsBetweenOperations) {
  const Gain gain = gainOf({.compute_ns = 300'000}, strided);
  for (std::size_t i = 0; i < kRatios.size(); ++i) {
    const Gain::Clock& clock = gain.clocks[i + 1];
    EXPECT_NEAR(clock.computing_ns, kRatios[i] * gain.read_ns, 1);
    EXPECT_NEAR(clock.run_ns, clock.computing_ns + gain.read_ns, 1);
    EXPECT_NEAR(clock.prefetched_run_ns, clock.run_ns - clock.hidden_ns, 1);
    EXPECT_GE(clock.hidden_ns, (kReads - 12) * (kMs - kCopied));
  }
}

// Without computing, the planner is not far enough ahead for all.
TEST(Simulation, AReadWaitsForWhatIsUnderWay) {
  const double never_late = gainOf({}, strided, 0).clocks[0].hidden_ns;
  const double late = gainOf({.compute_ns = 0}, strided, 0).clocks[0].hidden_ns;
  const double later = gainOf({.compute_ns = 0}, strided, 5 * kMs).clocks[0].hidden_ns;
  EXPECT_LT(late, never_late);
  EXPECT_LT(later, late);
  EXPECT_GT(later, 0);
}

TEST(Simulation, ARequestThatComesTooLateHidesNothing) {
  const Gain gain = gainOf({}, strided, 1000 * kMs);
  EXPECT_GE(gain.used_bytes, (kReads - 6) * kReadBytes);
  EXPECT_EQ(gain.clocks[0].hidden_ns, 0);
  EXPECT_EQ(gain.clocks[0].prefetched_run_ns, gain.clocks[0].run_ns);
}

// What the reads of one thread took is not more than recorded, whatever others took.
TEST(Simulation, NoReadTakesLonger) {
  const Gain gain = gainOf({.read_ns = 5'000}, strided);  // less than a copy is assumed to take
  EXPECT_EQ(gain.clocks[0].hidden_ns, 0);
}

TEST(Simulation, NothingIsFetchedOfWhatTheHelperLeavesAlone) {
  std::mt19937 random(1);
  const auto anywhere = [&random](int) {
    return std::uniform_int_distribution<std::int64_t>(0, 1 << 20)(random) * kReadBytes;
  };
  const auto straight = [](int i) { return i * kReadBytes; };
  for (const Gain& gain :
       {gainOf({}, anywhere), gainOf({}, straight), gainOf({.bytes = 1024}, strided),
        gainOf({.writes = true}, strided), gainOf({.open_flags = O_RDONLY | O_DIRECT}, strided)}) {
    EXPECT_EQ(gain.reads, std::uint64_t{kReads});
    EXPECT_EQ(gain.requests, 0U);
    EXPECT_EQ(gain.fetched_bytes, 0);
    EXPECT_EQ(gain.used_bytes, 0);
    for (const Gain::Clock& clock : gain.clocks) {
      EXPECT_EQ(clock.hidden_ns, 0);
      EXPECT_EQ(clock.prefetched_run_ns, clock.run_ns);
    }
  }
}

// The second thread begins while the first one reads, the third one when both are done.
TEST(Simulation, ThreadsAreWhereTheyWereInTheRun) {
  const test::TemporaryDirectory directory;
  test::ContainerBuilder container(test::kToken, 100);
  container.facts(test::usualFacts());
  const std::uint64_t starts[] = {0, 700'000, 5'000'000};
  for (std::uint32_t log = 0; log < 3; ++log) {
    test::ChunkBuilder chunk(test::kToken, log, 0, 0, 0);
    chunk.header.thread = log;
    chunk.text(0, "/data/field");
    chunk.handle({.handle = 1, .fd = 3, .text_slot = 0});
    chunk.event(test::numberOf("pread"), {.start = starts[log],
                                          .end = starts[log] + 1'000'000,
                                          .arguments = {1, 0, kReadBytes, kStride},
                                          .request = kReadBytes,
                                          .result = kReadBytes});
    container.chunk(chunk);
  }
  container.ended(3, 0);
  container.save(directory / "node1.100.0.omnio");
  const base::Result<Simulation> simulation = simulated(directory);
  ASSERT_TRUE(simulation.ok()) << simulation.failure().sentence;
  const Gain::Clock& clock = simulation->total.clocks[0];
  EXPECT_EQ(simulation->total.reads, 3U);
  EXPECT_EQ(clock.run_ns, 6 * kMs);
  EXPECT_EQ(clock.computing_ns, 3'300'000);
}

TEST(Simulation, TheSlowestRankIsTheRun) {
  const test::TemporaryDirectory directory;
  for (int rank = 0; rank < 3; ++rank) {
    const std::int64_t compute_ns = (1 + rank) * kMs;
    save(directory, rank, 3, {.file = fmt::format("/data/{}", rank), .compute_ns = compute_ns},
         strided);
  }
  const base::Result<Simulation> simulation = simulated(directory);
  ASSERT_TRUE(simulation.ok());
  ASSERT_EQ(simulation->ranks.size(), 3U);
  Gain sum;
  for (const RankGain& rank : simulation->ranks) sum.add(rank.gain);
  EXPECT_EQ(sum.used_bytes, simulation->total.used_bytes);
  const Gain::Clock& slowest = simulation->ranks[2].gain.clocks[0];
  EXPECT_EQ(simulation->total.clocks[0].run_ns, slowest.run_ns);
  EXPECT_EQ(simulation->total.clocks[0].prefetched_run_ns, slowest.prefetched_run_ns);
  EXPECT_EQ(slowest.run_ns, (4 * kReads - 3) * kMs);
}

// Ranks of a node that read the same, one right after the other.
TEST(Simulation, RanksOfANodeShareWhatIsFetched) {
  const test::TemporaryDirectory directory;
  for (int rank = 0; rank < 2; ++rank) save(directory, rank, 2, {.begin_ns = rank * 10}, strided);
  const base::Result<Simulation> simulation = simulated(directory);
  ASSERT_TRUE(simulation.ok());
  EXPECT_LT(simulation->total.fetched_bytes, (kReads + 20) * kReadBytes);
  EXPECT_GE(simulation->total.used_bytes, (kReads - 8) * kReadBytes);
  for (const RankGain& rank : simulation->ranks) {
    EXPECT_GE(rank.gain.clocks[0].hidden_ns, (kReads - 10) * (kMs - kCopied));
  }
}

TEST(Simulation, DocumentHasWhatTheTextHas) {
  const test::TemporaryDirectory directory;
  for (int rank = 0; rank < 30; ++rank) {
    save(directory, rank, 30, {.file = fmt::format("/data/{}", rank)}, strided);
  }
  const base::Result<Simulation> simulation = simulated(directory);
  ASSERT_TRUE(simulation.ok());
  rapidjson::Document document;
  document.Parse(jsonOf(*simulation).c_str());
  ASSERT_FALSE(document.HasParseError());
  EXPECT_STREQ(document["format"].GetString(), "omnio-predicted-prefetch");
  EXPECT_EQ(document["ranks"].Size(), 30U);
  EXPECT_EQ(document["ranks"][0]["times"].Size(), 1U);
  const auto& total = document["total"];
  EXPECT_EQ(total["times"].Size(), kClocks);
  EXPECT_TRUE(total["times"][0]["as_recorded"].GetBool());
  EXPECT_EQ(total["reads"].GetUint64(), 30U * kReads);
  EXPECT_EQ(total["used_bytes"].GetInt64(), simulation->total.used_bytes);
  const std::string text = textOf(*simulation);
  EXPECT_NE(text.find("and 6 ranks more, which --json has\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  as recorded\n"), std::string::npos) << text;
}

TEST(Simulation, FailsWhereNothingIsRead) {
  const test::TemporaryDirectory directory;
  test::ChunkBuilder chunk(test::kToken, 0, 0, 0, 0);
  chunk.write(0, 10, 100);
  // Pages of a mapping: no read waits for them.
  chunk.event(kMapRead, {.start = 20,
                         .end = 30,
                         .arguments = {1, kReadBytes, kStride, 1},
                         .request = kReadBytes,
                         .result = kReadBytes});
  test::ContainerBuilder container(test::kToken, 100);
  container.facts(test::usualFacts()).chunk(chunk).ended(2, 0);
  container.save(directory / "node1.100.0.omnio");
  const base::Result<Simulation> simulation = simulated(directory);
  ASSERT_FALSE(simulation.ok());
  EXPECT_EQ(
      simulation.failure().sentence,
      directory.path().native() + ": no call reads a regular file: there is nothing to prefetch");
}

}  // namespace
}  // namespace omnio::prefetch
