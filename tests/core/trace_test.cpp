// A trace directory as it may be found: whole, cut, damaged, doubled, foreign, or with a tail in
// rings.
#include "core/tracefile/trace.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/tracefile/completeness.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/wire/info.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio {
namespace {

using test::ChunkBuilder;
using test::ContainerBuilder;
using test::kToken;
using test::TemporaryDirectory;

constexpr char kName[] = "node1.4711.0.omnio";

// A chunk of `count` writes, the n-th event of the log beginning at 10000 * (n + 1).
ChunkBuilder writes(std::uint32_t sequence, std::uint64_t first, std::uint64_t count,
                    std::uint32_t log = 0) {
  ChunkBuilder chunk(kToken, log, sequence, first, 10000 * (first + 1));
  for (std::uint64_t n = first; n < first + count; ++n) {
    chunk.write(10000 * (n + 1), 10000 * (n + 1) + 50, 512);
  }
  return chunk;
}

// Numbers of the events that are read back from all logs.
std::vector<std::uint64_t> eventsOf(const tracefile::Trace& trace) {
  std::vector<std::uint64_t> numbers;
  event::PathTable paths;
  for (const auto& process : trace.processes()) {
    for (const tracefile::Log& log : process->logs) {
      const auto reader = std::make_unique<tracefile::LogReader>(*process, log, paths);
      while (const event::Event* event = reader->next()) {
        numbers.push_back(static_cast<std::uint64_t>(event->start_ns) / 10000 - 1);
        EXPECT_EQ(event->bytes, 512U);
        EXPECT_EQ(paths.path(event->file), "/data/out.bin");
      }
    }
  }
  return numbers;
}

std::vector<std::uint64_t> upTo(std::uint64_t count) {
  std::vector<std::uint64_t> numbers(count);
  for (std::uint64_t i = 0; i < count; ++i) numbers[i] = i;
  return numbers;
}

class TraceTest : public testing::Test {
 protected:
  void SetUp() override { setenv("OMNIO_RING_DIR", rings_.path().c_str(), 1); }
  void TearDown() override { unsetenv("OMNIO_RING_DIR"); }

  void save(const std::string& bytes) { test::writeAll(directory_ / kName, bytes); }
  tracefile::Trace open() {
    base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_.path());
    if (!trace) throw std::runtime_error(trace.failure().sentence);
    return std::move(*trace);
  }
  std::string failure() { return tracefile::Trace::open(directory_.path()).failure().sentence; }
  std::filesystem::path ring(std::uint64_t token = kToken) const {
    return rings_ / test::ringName(directory_.path(), token);
  }
  std::string file() const { return (directory_ / kName).native(); }

  TemporaryDirectory directory_;
  TemporaryDirectory rings_;
};

ContainerBuilder twoChunks() {
  ContainerBuilder container(kToken);
  container.facts(test::usualFacts()).chunk(writes(0, 0, 4)).chunk(writes(1, 4, 3)).ended(7);
  return container;
}

TEST_F(TraceTest, AWholeOneIsReadInOrder) {
  save(twoChunks().bytes());
  const tracefile::Trace trace = open();
  EXPECT_EQ(eventsOf(trace), upTo(7));
  const tracefile::Wholeness wholeness = tracefile::assess(trace);
  EXPECT_TRUE(wholeness.whole) << wholeness.reasons.front();
  EXPECT_EQ(wholeness.events, 7U);
  EXPECT_EQ(wholeness.events_missing, 0U);
  EXPECT_EQ(wholeness.ranks_expected, 1);
  EXPECT_EQ(wholeness.ranks_reporting, 1);
}

TEST_F(TraceTest, WhatIsNoTraceIsSaidInOneSentence) {
  const auto sentence = [](const std::string& path) {
    return tracefile::Trace::open(path).failure().sentence;
  };
  const std::string missing = directory_ / "nothing";
  EXPECT_EQ(sentence(missing), missing + ": No such file or directory");
  EXPECT_EQ(failure(), directory_.path().native() + ": holds no trace (no file *.omnio in it)");
  test::writeAll(directory_ / "launch-node1-7.json", "{}");
  EXPECT_EQ(failure(),
            directory_.path().native() +
                ": holds no event: what ran there did no I/O on files that are recorded");
  save(std::string(5000, 'x'));
  EXPECT_EQ(sentence(file()),
            file() + ": not a directory; a trace is a directory that `omnio trace -o` made");
  EXPECT_EQ(failure(), file() + ": byte 0: not an omnio trace file");
  save(twoChunks().bytes().substr(0, 40));
  EXPECT_EQ(failure(), file() + ": byte 40: the file ends within its header of 64 bytes");
}

TEST_F(TraceTest, AnEmptyLogAloneIsATraceOfNoProcess) {
  save("");
  const tracefile::Trace trace = open();
  EXPECT_TRUE(trace.processes().empty());
  EXPECT_TRUE(trace.clocks().empty());
  tracefile::Wholeness wholeness = tracefile::assess(trace);
  EXPECT_FALSE(wholeness.whole);
  EXPECT_EQ(wholeness.reasons,
            std::vector<std::string>{file() + ": empty: the process could not write its log"});
  EXPECT_EQ(wholeness.events, 0U);
  EXPECT_EQ(wholeness.ranks_expected, 1);
  EXPECT_EQ(wholeness.ranks_reporting, 0);
  EXPECT_EQ(missingSentence(wholeness), "how many events are missing is not known");
  EXPECT_EQ(trace.processesOf(std::nullopt)->size(), 0U);
  EXPECT_EQ(trace.processesOf(3).failure().sentence,
            directory_.path().native() + ": no rank 3 in this trace; it has no rank");
  // Beside it, what is not ours is a reason too; without it, the trace is refused.
  test::writeAll(directory_ / "a.1.0.omnio", "garbage");
  wholeness = tracefile::assess(open());
  ASSERT_EQ(wholeness.reasons.size(), 2U);
  EXPECT_EQ(wholeness.reasons[0],
            (directory_ / "a.1.0.omnio").native() + ": byte 0: not an omnio trace file");
  std::filesystem::remove(file());
  EXPECT_EQ(failure(), (directory_ / "a.1.0.omnio").native() + ": byte 0: not an omnio trace file");
}

TEST_F(TraceTest, AProcessOfWhichOnlyRingsAreLeftHasThisNodesClock) {
  ContainerBuilder container = twoChunks();
  auto facts = test::usualFacts();
  facts[wire::info::kBoot] = tracefile::thisBoot();
  container.body = test::infoChunk(kToken, facts);
  save(container.bytes());
  const ChunkBuilder chunk(kToken + 1, 0, 0, 0);
  test::saveRing(ring(kToken + 1), {.token = kToken + 1,
                                    .pid = test::kDeadPid,
                                    .trace_directory = directory_.path(),
                                    .open = &chunk});
  const tracefile::Trace trace = open();
  EXPECT_EQ(trace.processes().size(), 2U);
  ASSERT_EQ(trace.clocks().size(), 1U);
  EXPECT_EQ(trace.clocks()[0].host, "node1");
}

TEST_F(TraceTest, AnotherVersionIsNamed) {
  ContainerBuilder container = twoChunks();
  container.header.version = wire::kFormatVersion + 1;
  save(container.bytes());
  EXPECT_EQ(failure(), fmt::format("{}: byte 8: format version {}, but this omnio reads version {}",
                                   file(), wire::kFormatVersion + 1, wire::kFormatVersion));
}

TEST_F(TraceTest, ADamagedHeaderIsNamed) {
  std::string bytes = twoChunks().bytes();
  bytes[20] ^= 1;
  save(bytes);
  EXPECT_EQ(failure(), file() + ": byte 0: the file's header is damaged");
}

TEST_F(TraceTest, OneUnreadableFileDoesNotHideTheOthers) {
  save(twoChunks().bytes());
  test::writeAll(directory_ / "node2.1.0.omnio", "garbage");
  const tracefile::Trace trace = open();
  EXPECT_EQ(eventsOf(trace), upTo(7));
  const tracefile::Wholeness wholeness = tracefile::assess(trace);
  EXPECT_FALSE(wholeness.whole);
  ASSERT_EQ(wholeness.reasons.size(), 1U);
  EXPECT_EQ(wholeness.reasons[0],
            (directory_ / "node2.1.0.omnio").native() + ": byte 0: not an omnio trace file");
}

TEST_F(TraceTest, CutAnywhereAllWholeRecordsBeforeTheCutAreRead) {
  const std::string whole = twoChunks().bytes();
  std::size_t most = 0;
  // Each byte of the chunks; of the header block, which is mostly zeros, some.
  constexpr std::size_t kStep = 61;
  for (std::size_t length = sizeof(wire::ContainerHeader); length < whole.size();
       length += length < wire::kContainerHeaderBytes - kStep ? kStep : 1) {
    save(whole.substr(0, length));
    const tracefile::Trace trace = open();
    const std::vector<std::uint64_t> events = eventsOf(trace);
    ASSERT_EQ(events, upTo(events.size())) << "cut at " << length;
    ASSERT_GE(events.size(), most) << "cut at " << length;
    most = events.size();
    const tracefile::Wholeness wholeness = tracefile::assess(trace);
    ASSERT_EQ(wholeness.events, events.size());
    if (length >= wire::kContainerHeaderBytes) {
      ASSERT_EQ(wholeness.events + wholeness.events_missing, 7U) << "cut at " << length;
      ASSERT_EQ(wholeness.whole, events.size() == 7) << "cut at " << length;
    } else {
      ASSERT_FALSE(wholeness.whole);
    }
  }
  EXPECT_EQ(most, 7U);
}

TEST_F(TraceTest, AFlippedBitCostsNoMoreThanItsChunk) {
  const std::string whole = twoChunks().bytes();
  for (std::size_t at = wire::kContainerHeaderBytes; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    save(bytes);
    const tracefile::Trace trace = open();
    const std::vector<std::uint64_t> events = eventsOf(trace);
    const tracefile::Wholeness wholeness = tracefile::assess(trace);
    ASSERT_EQ(wholeness.events, events.size());
    ASSERT_EQ(wholeness.events + wholeness.events_missing, 7U) << "bit in byte " << at;
    const bool first = events.size() >= 4 && events[0] == 0;
    const bool second = !events.empty() && events.back() == 6;
    ASSERT_TRUE(first || second) << "bit in byte " << at;
    ASSERT_EQ(events.size(), (first ? 4U : 0U) + (second ? 3U : 0U)) << "bit in byte " << at;
  }
}

TEST_F(TraceTest, HolesAndGarbageBetweenChunksAreSteppedOver) {
  ContainerBuilder container(kToken);
  container.facts(test::usualFacts()).chunk(writes(0, 0, 2));
  container.body += std::string(400000, '\0');
  container.chunk(writes(1, 2, 2));
  const std::size_t at = wire::kContainerHeaderBytes + container.body.size();
  container.body += std::string(1000, 'g');
  // A header that holds, of a payload that does not: the next chunk stands inside what it claims.
  ChunkBuilder torn = writes(9, 90, 50);
  container.body += torn.bytes().substr(0, 88);
  container.chunk(writes(2, 4, 2)).ended(7);
  save(container.bytes());
  const std::string place =
      fmt::format("{}: 1088 bytes from byte {} on do not form a whole chunk", kName, at);
  {
    const tracefile::Trace trace = open();
    EXPECT_EQ(eventsOf(trace), upTo(6));
    const tracefile::Wholeness wholeness = tracefile::assess(trace);
    EXPECT_EQ(wholeness.events_missing, 1U);
    ASSERT_EQ(wholeness.reasons.size(), 2U);
    EXPECT_EQ(wholeness.reasons[1], place);
  }
  // The end of a process cuts off what its other threads are writing. Where it counted all events
  // that are there, nothing was lost in that place.
  container.ended(6);
  save(container.bytes());
  EXPECT_TRUE(assess(open()).whole);
  // The end of this one was never told, so what was there is unknown.
  container.running();
  save(container.bytes());
  const tracefile::Wholeness unknown = tracefile::assess(open());
  ASSERT_EQ(unknown.reasons.size(), 2U);
  EXPECT_EQ(unknown.reasons[1], place);
  EXPECT_TRUE(unknown.at_least);
}

TEST_F(TraceTest, ChunksOfAnotherProcessAreNoneOfOurs) {
  ContainerBuilder container = twoChunks();
  ChunkBuilder foreign(kToken + 1, 0, 2, 7);
  foreign.write(90000, 90001, 1);
  container.chunk(foreign);
  save(container.bytes());
  EXPECT_EQ(eventsOf(open()), upTo(7));
}

TEST_F(TraceTest, OfTwoCopiesOfAChunkTheLongerCounts) {
  ContainerBuilder container(kToken);
  container.facts(test::usualFacts())
      .chunk(writes(0, 0, 2))
      .chunk(writes(0, 0, 5))
      .chunk(writes(0, 0, 3))
      .ended(5);
  save(container.bytes());
  const tracefile::Trace trace = open();
  EXPECT_EQ(eventsOf(trace), upTo(5));
  EXPECT_TRUE(assess(trace).whole);
}

TEST_F(TraceTest, GapsAreCountedAndPlaced) {
  ContainerBuilder container(kToken);
  container.facts(test::usualFacts()).chunk(writes(0, 0, 2)).chunk(writes(2, 7, 1));
  container.ended(3, 5, ENOSPC);
  save(container.bytes());
  const tracefile::Trace trace = open();
  const tracefile::Process& process = *trace.processes().front();
  event::PathTable paths;
  tracefile::LogReader reader(process, process.logs.front(), paths);
  ASSERT_NE(reader.next(), nullptr);
  EXPECT_EQ(reader.missingBefore(), 0U);
  ASSERT_NE(reader.next(), nullptr);
  ASSERT_NE(reader.next(), nullptr);
  EXPECT_EQ(reader.missingBefore(), 5U);
  EXPECT_EQ(reader.next(), nullptr);
  const tracefile::Wholeness wholeness = tracefile::assess(trace);
  EXPECT_FALSE(wholeness.whole);
  EXPECT_EQ(wholeness.events_missing, 5U);
  EXPECT_EQ(wholeness.reasons,
            std::vector<std::string>{"5 events of process 4711 on host node1 were dropped: "
                                     "No space left on device"});
}

TEST_F(TraceTest, ARankThatDidNotReportIsNamed) {
  for (const int rank : {0, 1, 3}) {
    ContainerBuilder container(kToken + static_cast<std::uint64_t>(rank));
    container.facts(test::usualFacts(rank, 4)).ended(0);
    container.save(directory_ / fmt::format("node1.{}.0.omnio", 10 + rank));
  }
  const tracefile::Trace trace = open();
  const tracefile::Wholeness wholeness = tracefile::assess(trace);
  EXPECT_FALSE(wholeness.whole);
  EXPECT_EQ(wholeness.ranks_expected, 4);
  EXPECT_EQ(wholeness.ranks_reporting, 3);
  EXPECT_EQ(wholeness.reasons, std::vector<std::string>{"rank 2 of 4 did not report"});
  EXPECT_EQ(trace.processesOf(2).failure().sentence,
            directory_.path().native() + ": no rank 2 in this trace; it has ranks 0, 1, 3");
  EXPECT_EQ(trace.processesOf(3)->size(), 1U);
  EXPECT_EQ(trace.processesOf(std::nullopt)->size(), 3U);
}

TEST_F(TraceTest, TheTailOfAKilledProcessIsReadFromItsRings) {
  ContainerBuilder container(kToken, test::kDeadPid);
  container.facts(test::usualFacts()).chunk(writes(0, 0, 4)).running();
  container.save(directory_ / kName);
  // The last chunk of the container is still in the ring, and so is one that is not.
  const ChunkBuilder again = writes(0, 0, 4);
  const ChunkBuilder closed = writes(1, 4, 2);
  const ChunkBuilder last = writes(2, 6, 3);
  test::saveRing(ring(), {.token = kToken,
                          .pid = test::kDeadPid,
                          .trace_directory = directory_.path(),
                          .closed = {&again, &closed},
                          .open = &last});
  const tracefile::Trace trace = open();
  EXPECT_EQ(eventsOf(trace), upTo(9));
  const tracefile::Wholeness wholeness = tracefile::assess(trace);
  EXPECT_EQ(wholeness.reasons, std::vector<std::string>{fmt::format(
                                   "process {} on host node1 was killed", test::kDeadPid)});
  EXPECT_EQ(wholeness.events_missing, 0U);
}

// Rings of another node, or on one that was started anew since, are out of reach.
TEST_F(TraceTest, WithoutItsRingsTheTailOfAKilledProcessIsNotKnown) {
  ContainerBuilder container(kToken, test::kDeadPid);
  container.facts(test::usualFacts()).chunk(writes(0, 0, 4)).running();
  container.save(directory_ / kName);
  tracefile::Wholeness wholeness = tracefile::assess(open());
  EXPECT_FALSE(wholeness.whole);
  EXPECT_EQ(wholeness.events, 4U);
  EXPECT_EQ(wholeness.events_missing, 0U);
  EXPECT_TRUE(wholeness.at_least);
  EXPECT_EQ(missingSentence(wholeness), "how many events are missing is not known");

  const ChunkBuilder last = writes(1, 4, 1);
  test::saveRing(ring(), {.token = kToken,
                          .pid = test::kDeadPid,
                          .trace_directory = directory_.path(),
                          .open = &last});
  wholeness = tracefile::assess(open());
  EXPECT_FALSE(wholeness.whole);
  EXPECT_EQ(wholeness.events, 5U);
  EXPECT_FALSE(wholeness.at_least);
  EXPECT_EQ(missingSentence(wholeness), "all that was recorded is there");
}

TEST_F(TraceTest, RingsOfOtherTracesStayOut) {
  save(twoChunks().bytes());
  const ChunkBuilder last = writes(2, 7, 3);
  TemporaryDirectory elsewhere;
  test::saveRing(
      ring(),
      {.token = kToken, .pid = test::kDeadPid, .trace_directory = elsewhere.path(), .open = &last});
  test::writeAll(rings_ / "omnio-garbage", std::string(20000, 'g'));
  test::writeAll(rings_ / "omnio-short", "g");
  EXPECT_EQ(eventsOf(open()), upTo(7));
}

TEST_F(TraceTest, AProcessWithoutAContainerIsReadFromItsRings) {
  save(twoChunks().bytes());
  ChunkBuilder chunk(99, 0, 0, 0, 80000);
  chunk.write(80000, 80050, 512);
  test::saveRing(
      ring(99),
      {.token = 99,
       .pid = test::kDeadPid,
       .trace_directory = directory_.path(),
       .note = wire::Account{.state = wire::AccountState::kEnded, .error = EROFS, .events_lost = 3},
       .open = &chunk});
  const tracefile::Trace trace = open();
  EXPECT_EQ(trace.processes().size(), 2U);
  const tracefile::Wholeness wholeness = tracefile::assess(trace);
  EXPECT_EQ(wholeness.events, 8U);
  EXPECT_EQ(wholeness.events_missing, 2U);
  EXPECT_EQ(wholeness.reasons,
            (std::vector<std::string>{
                fmt::format("process {} could not create its file in the trace directory",
                            test::kDeadPid),
                fmt::format("2 events of process {} were dropped: Read-only file system",
                            test::kDeadPid)}));
}

TEST_F(TraceTest, TheClockOfAnotherNodeIsShiftedToTheFirst) {
  ContainerBuilder first(kToken);
  first.facts(test::usualFacts(0, 2)).chunk(writes(0, 0, 1)).ended(1);
  first.save(directory_ / "node1.1.0.omnio");
  ContainerBuilder second(kToken + 1);
  auto facts = test::usualFacts(1, 2);
  facts[wire::info::kBoot] = "another-boot";
  // Its monotonic clock is 4000 ns ahead of the first node's.
  second.header.begin = {.ticks = 4600, .monotonic_ns = 4600, .realtime_ns = 1'000'000'600};
  ChunkBuilder chunk(kToken + 1, 0, 0, 0, 24000);
  chunk.write(24000, 24050, 512);
  second.facts(facts).chunk(chunk).ended(1);
  second.save(directory_ / "node2.1.0.omnio");
  EXPECT_EQ(eventsOf(open()), (std::vector<std::uint64_t>{0, 1}));
}

TEST_F(TraceTest, AnAbortedOrRunningProcessMakesItNotWhole) {
  ContainerBuilder container = twoChunks();
  container.account->state = wire::AccountState::kAborted;
  save(container.bytes());
  EXPECT_EQ(assess(open()).reasons, std::vector<std::string>{"process 4711 on host node1 aborted"});
  container.account->state = wire::AccountState::kRunning;
  save(container.bytes());
  EXPECT_EQ(assess(open()).reasons,
            std::vector<std::string>{"process 4711 on host node1 did not say that it ended: it was "
                                     "killed, or still runs on its node"});
}

}  // namespace
}  // namespace omnio
