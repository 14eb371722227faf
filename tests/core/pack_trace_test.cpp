// A trace packed and restored: what is read stays the same, damage and all, and what was recorded
// comes back to the byte.
#include "core/tracefile/pack_trace.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/event/event_text.hpp"
#include "core/tracefile/collect.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/process_info.hpp"
#include "core/tracefile/trace.hpp"
#include "core/wire/info.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio {
namespace {

namespace fs = std::filesystem;
using test::ChunkBuilder;
using test::ContainerBuilder;

constexpr std::uint64_t kToken = 0x1234;

ChunkBuilder writes(std::uint32_t sequence, std::uint64_t first, std::uint64_t count,
                    std::uint32_t log = 0) {
  ChunkBuilder chunk(kToken, log, sequence, first, 1000 * (first + 1));
  for (std::uint64_t n = first; n < first + count; ++n) {
    chunk.write(1000 * (n + 1), 1000 * (n + 1) + 50 + n % 7, static_cast<std::int64_t>(n % 5));
  }
  return chunk;
}

ContainerBuilder threeChunks() {
  ContainerBuilder container(kToken, test::kDeadPid);
  container.facts(test::usualFacts())
      .chunk(writes(0, 0, 40))
      .chunk(writes(0, 0, 3, 1))
      .chunk(writes(1, 40, 30))
      .ended(73);
  return container;
}

class PackTest : public testing::Test {
 protected:
  void SetUp() override { setenv("OMNIO_RING_DIR", rings_.path().c_str(), 1); }
  void TearDown() override { unsetenv("OMNIO_RING_DIR"); }

  void save(const std::string& bytes) { test::writeAll(file_, bytes); }
  fs::path ring() const { return rings_ / test::ringName(directory_.path(), kToken); }
  std::string stored() const { return test::readAll(file_); }

  tracefile::PackReport change(bool restore) {
    const base::Result<tracefile::PackReport> report =
        tracefile::packTrace(directory_.path(), {.restore = restore, .assume_ended = true});
    if (!report) throw std::runtime_error(report.failure().sentence);
    if (!report->troubles.empty()) throw std::runtime_error(report->troubles.front());
    return *report;
  }
  tracefile::PackReport pack() { return change(false); }
  tracefile::PackReport restore() { return change(true); }

  std::string refusal(const tracefile::PackOptions& options = {}) {
    const std::string before = stored();
    const base::Result<tracefile::PackReport> report =
        tracefile::packTrace(directory_.path(), options);
    EXPECT_EQ(stored(), before);
    if (!report) return report.failure().sentence;
    return report->troubles.empty() ? "(done)" : report->troubles.front();
  }

  // All that a reader can tell of the trace.
  std::string allThatIsRead() const {
    const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_.path());
    if (!trace) return trace.failure().sentence;
    std::string text;
    event::PathTable paths;
    const tracefile::Wholeness wholeness = tracefile::assess(*trace);
    for (const std::string& reason : wholeness.reasons) text += reason + "\n";
    text += tracefile::missingSentence(wholeness) + "\n";
    for (const auto& process : trace->processes()) {
      for (const tracefile::Damage& damage : process->damage) {
        text += fmt::format("damage {} {}\n", damage.offset, damage.bytes);
      }
      for (const auto& [key, value] : process->info.all()) text += key + "=" + value + "\n";
      for (const tracefile::Log& log : process->logs) {
        tracefile::LogReader reader(*process, log, paths);
        while (const event::Event* event = reader.next()) {
          event::appendText(text, *event);
          if (reader.missingBefore() > 0) text += fmt::format("({})\n", reader.missingBefore());
        }
        text += fmt::format("log {} undecodable {}\n", log.number, reader.undecodable());
      }
    }
    return text;
  }

  void expectSameAfterPacking(const std::string& what) {
    const std::string bytes = stored();
    const std::string read = allThatIsRead();
    pack();
    EXPECT_EQ(allThatIsRead(), read) << what;
    EXPECT_NE(stored(), bytes) << what;
    restore();
    EXPECT_TRUE(stored() == bytes) << what;
  }

  test::TemporaryDirectory directory_;
  test::TemporaryDirectory rings_;
  fs::path file_ = directory_ / "node1.1.0.omnio";
};

TEST_F(PackTest, IsReadAsBeforeAndComesBackToTheByte) {
  save(threeChunks().bytes());
  expectSameAfterPacking("whole");
}

TEST_F(PackTest, IsSmallerAndSaysHowMuch) {
  ContainerBuilder container(kToken, test::kDeadPid);
  container.facts(test::usualFacts()).chunk(writes(0, 0, 5000)).ended(5000);
  save(container.bytes());
  const auto recorded = fs::file_size(file_);
  const tracefile::PackReport report = pack();
  EXPECT_EQ(report.containers, 1U);
  EXPECT_EQ(report.changed, 1U);
  EXPECT_EQ(report.events, 5000U);
  EXPECT_EQ(report.recorded_bytes, recorded);
  EXPECT_EQ(report.packed_bytes, fs::file_size(file_));
  EXPECT_LT(report.packed_bytes, recorded / 2);
}

TEST_F(PackTest, ASecondTimeChangesNothing) {
  save(threeChunks().bytes());
  pack();
  const std::string packed = stored();
  EXPECT_EQ(pack().changed, 0U);
  EXPECT_EQ(stored(), packed);
  restore();
  EXPECT_EQ(restore().changed, 0U);
}

TEST_F(PackTest, KeepsModeAndTimes) {
  save(threeChunks().bytes());
  fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write);
  const auto time = fs::last_write_time(file_) - std::chrono::hours(24);
  fs::last_write_time(file_, time);
  pack();
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::last_write_time(file_), time);
}

TEST_F(PackTest, WhatWasCutAnywhereIsReadAsBefore) {
  const std::string whole = threeChunks().bytes();
  for (std::size_t bytes = sizeof(wire::ContainerHeader); bytes < whole.size();
       bytes += bytes < wire::kContainerHeaderBytes ? 997 : 23) {
    save(whole.substr(0, bytes));
    expectSameAfterPacking(fmt::format("cut at {}", bytes));
  }
}

TEST_F(PackTest, WhatIsDamagedAnywhereIsReadAsBefore) {
  const std::string whole = threeChunks().bytes();
  for (std::size_t at = wire::kContainerHeaderBytes; at < whole.size(); at += 29) {
    std::string bytes = whole;
    bytes[at] ^= 0x55;
    save(bytes);
    expectSameAfterPacking(fmt::format("damaged at {}", at));
  }
}

TEST_F(PackTest, HolesAndRemnantsComeBack) {
  const ContainerBuilder container = threeChunks();
  std::string bytes = container.bytes();
  for (const std::size_t at : {1000, 1100, 4095}) bytes[at] = 'h';  // of the header block
  bytes += std::string(3 << 20, '\0') + std::string(5000, 'x') + std::string(100, '\0') +
           writes(2, 70, 4).bytes() + std::string(1 << 20, '\0') + "end" + std::string(77, '\0');
  save(bytes);
  expectSameAfterPacking("remnants");
  // As a hole, not as zeros.
  save(container.bytes());
  fs::resize_file(file_, 1 << 30);
  const std::string read = allThatIsRead();
  pack();
  EXPECT_LT(fs::file_size(file_), 10'000U);
  EXPECT_EQ(allThatIsRead(), read);
  restore();
  EXPECT_EQ(fs::file_size(file_), 1U << 30);
  struct stat status {};
  ASSERT_EQ(stat(file_.c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 1 << 20);
}

// Readers find chunks first and read them later; meanwhile the file may become another one.
TEST_F(PackTest, WhoReadsWhileItIsPackedReadsTheSame) {
  save(threeChunks().bytes());
  for (const bool restores : {false, true}) {
    const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_.path());
    ASSERT_TRUE(trace.ok());
    change(restores);
    event::PathTable paths;
    std::uint64_t events = 0;
    for (const tracefile::Log& log : trace->processes().front()->logs) {
      tracefile::LogReader reader(*trace->processes().front(), log, paths);
      while (const event::Event* event = reader.next()) {
        EXPECT_EQ(paths.path(event->file), "/data/out.bin");
        ++events;
      }
      EXPECT_EQ(reader.undecodable(), 0U);
    }
    EXPECT_EQ(events, 73U);
  }
}

// Damage done to the packed file costs the chunk that it hits.
TEST_F(PackTest, DamageAfterPackingCostsOneChunk) {
  save(threeChunks().bytes());
  const auto events = [this] {
    return tracefile::assess(*tracefile::Trace::open(directory_.path())).events;
  };
  ASSERT_EQ(events(), 73U);
  pack();
  const std::string packed = stored();
  for (std::size_t at = wire::kPackedHeaderBytes; at < packed.size(); at += 11) {
    std::string bytes = packed;
    bytes[at] ^= 0x55;
    save(bytes);
    EXPECT_GE(events(), 33U) << at;
  }
  for (std::size_t bytes = wire::kPackedHeaderBytes; bytes < packed.size(); bytes += 31) {
    save(packed.substr(0, bytes));
    const tracefile::Wholeness wholeness =
        tracefile::assess(*tracefile::Trace::open(directory_.path()));
    EXPECT_EQ(wholeness.events + wholeness.events_missing, 73U) << bytes;
  }
}

TEST_F(PackTest, WhatWasDamagedAfterPackingIsNotRestored) {
  save(threeChunks().bytes());
  pack();
  std::string bytes = stored();
  bytes[wire::kPackedHeaderBytes + 100] ^= 1;
  save(bytes);
  EXPECT_EQ(refusal({.restore = true}),
            file_.native() +
                ": byte 1024: damaged after it was packed: it can be read as far as "
                "it holds, but not restored");
}

TEST_F(PackTest, APackedFileWithoutItsEndSaysSo) {
  ContainerBuilder container(kToken, test::kDeadPid);
  container.facts(test::usualFacts()).chunk(writes(0, 0, 40)).running();
  save(container.bytes());
  ASSERT_TRUE(tracefile::packTrace(directory_.path(), {.assume_ended = true}).ok());
  // Chunks begin at multiples of 8, and the end of a whole container is the last 112 bytes.
  const auto end = fs::file_size(file_) - sizeof(wire::ChunkHeader) - sizeof(wire::PackedHeader);
  fs::resize_file(file_, end);
  const tracefile::Wholeness wholeness =
      tracefile::assess(*tracefile::Trace::open(directory_.path()));
  EXPECT_EQ(wholeness.reasons.back(),
            fmt::format("node1.1.0.omnio: the packed file is cut off at byte {}", end));
}

TEST_F(PackTest, WhatIsCollectedAfterwardsIsAdded) {
  ContainerBuilder container(kToken, test::kDeadPid);
  // It ended with its device full: its rings hold what it could not write.
  container.facts(test::usualFacts()).chunk(writes(0, 0, 40)).ended(40, 400, 28);
  const ChunkBuilder late = writes(1, 40, 400);
  const auto collectLate = [&] {
    test::saveRing(ring(), {.token = kToken,
                            .pid = test::kDeadPid,
                            .trace_directory = directory_.path(),
                            .closed = {&late}});
    const tracefile::CollectReport report = tracefile::collectRings(directory_.path());
    EXPECT_TRUE(report.troubles.empty());
    EXPECT_EQ(report.events, 400U);
  };
  save(container.bytes());
  collectLate();
  const std::string wanted = stored();
  const std::string read = allThatIsRead();

  save(container.bytes());
  pack();
  collectLate();
  EXPECT_EQ(allThatIsRead(), read);
  const std::string partly_packed = stored();
  restore();
  EXPECT_TRUE(stored() == wanted);

  save(partly_packed);
  EXPECT_EQ(pack().changed, 1U);
  EXPECT_EQ(allThatIsRead(), read);
  EXPECT_LT(fs::file_size(file_), partly_packed.size());
  EXPECT_EQ(pack().changed, 0U);
  restore();
  EXPECT_TRUE(stored() == wanted);
}

TEST_F(PackTest, EventsInMemoryAreCollectedFirst) {
  save(threeChunks().bytes());
  const ChunkBuilder late = writes(2, 70, 3);
  test::saveRing(ring(), {.token = kToken,
                          .pid = test::kDeadPid,
                          .trace_directory = directory_.path(),
                          .closed = {&late}});
  EXPECT_EQ(refusal(), fmt::format("{}: events of process {} are still in memory: run `omnio "
                                   "collect` first",
                                   directory_.path().native(), test::kDeadPid));
}

std::map<std::string, std::string> factsOfThisProcess() {
  auto facts = test::usualFacts();
  facts[wire::info::kBoot] = tracefile::thisBoot();
  std::string stat = test::readAll("/proc/self/stat");
  stat.erase(0, stat.rfind(')') + 2);
  for (int field = 3; field < 22; ++field) stat.erase(0, stat.find(' ') + 1);
  facts[wire::info::kProcessStart] = stat.substr(0, stat.find(' '));
  return facts;
}

TEST_F(PackTest, ARunningProcessIsLeftAlone) {
  // Also one that has said that it ends: its last threads may still write.
  for (const bool said_so : {false, true}) {
    ContainerBuilder container(kToken, static_cast<std::uint32_t>(getpid()));
    container.facts(factsOfThisProcess()).chunk(writes(0, 0, 4));
    if (said_so) {
      container.ended(4);
    } else {
      container.running(4);
    }
    save(container.bytes());
    EXPECT_EQ(refusal({.assume_ended = true}),
              fmt::format("{}: process {} is still running", directory_.path().native(), getpid()));
  }
}

TEST_F(PackTest, WhatMayRunOnAnotherNodeIsLeftAlone) {
  ContainerBuilder container(kToken, 4711);
  container.facts(test::usualFacts()).chunk(writes(0, 0, 4)).running(4);
  save(container.bytes());
  EXPECT_EQ(refusal(), directory_.path().native() +
                           ": process 4711 did not say that it ended: it may still run, or have "
                           "left events, on host node1; run `omnio collect` there, or give "
                           "--assume-ended");
  EXPECT_EQ(tracefile::packTrace(directory_.path(), {.assume_ended = true})->changed, 1U);
}

TEST_F(PackTest, WhatMayRunInAnotherNumberingOfProcessesIsLeftAlone) {
  // The number is this process's, which does not say anything about a container's.
  auto facts = factsOfThisProcess();
  facts[wire::info::kPidNamespace] = "pid:[1]";
  ContainerBuilder container(kToken, static_cast<std::uint32_t>(getpid()));
  container.facts(facts).chunk(writes(0, 0, 4)).running(4);
  save(container.bytes());
  EXPECT_NE(refusal().find("did not say that it ended"), std::string::npos) << refusal();
  facts[wire::info::kPidNamespace] = tracefile::thisPidNamespace();
  ContainerBuilder here(kToken, static_cast<std::uint32_t>(getpid()));
  here.facts(facts).chunk(writes(0, 0, 4)).running(4);
  save(here.bytes());
  EXPECT_NE(refusal().find("is still running"), std::string::npos) << refusal();
}

TEST_F(PackTest, WhatIsWrittenToMeanwhileStaysAsItIs) {
  save(threeChunks().bytes());
  const std::string before = stored();
  const auto report = tracefile::packTrace(
      directory_.path(), {.progress = [this, &before](std::uint64_t, std::uint64_t) {
        test::writeAll(directory_ / "node1.1.0.omnio", before + "more");
      }});
  ASSERT_TRUE(report.ok()) << report.failure().sentence;
  ASSERT_EQ(report->troubles.size(), 1U);
  EXPECT_TRUE(stored() == before + "more");
}

TEST_F(PackTest, WhatCannotBeReadStaysAsItIs) {
  save(threeChunks().bytes());
  const fs::path foreign = directory_ / "node1.2.0.omnio";
  test::writeAll(foreign, "foreign");
  const tracefile::PackReport report = pack();
  EXPECT_EQ(report.changed, 1U);
  ASSERT_EQ(report.kept.size(), 1U);
  EXPECT_EQ(report.kept[0], foreign.native() + ": byte 0: not an omnio trace file");
  EXPECT_EQ(test::readAll(foreign), "foreign");
}

TEST_F(PackTest, ACopyLeavesTheTraceAlone) {
  save(threeChunks().bytes());
  test::writeAll(directory_ / "manifest.json", "{}");
  const std::string before = stored();
  const fs::path copy = rings_ / "copy";
  const auto made = tracefile::packTrace(directory_.path(), {.copy = copy});
  ASSERT_TRUE(made.ok()) << made.failure().sentence;
  EXPECT_EQ(stored(), before);
  EXPECT_EQ(test::readAll(copy / "manifest.json"), "{}");
  EXPECT_TRUE(fs::exists(copy / "node1.1.0.omnio"));
  const fs::path restored = rings_ / "restored";
  ASSERT_TRUE(tracefile::packTrace(copy, {.restore = true, .copy = restored}).ok());
  EXPECT_TRUE(test::readAll(restored / "node1.1.0.omnio") == before);
  EXPECT_EQ(refusal({.copy = copy}), copy.native() + ": exists already");
  EXPECT_EQ(refusal({.copy = directory_ / "inside"}),
            (directory_ / "inside").native() + ": lies within the trace");
}

TEST_F(PackTest, DraftsOfWhoWasKilledAreRemoved) {
  save(threeChunks().bytes());
  const fs::path draft = directory_ / "node1.1.0.omnio.0badcafe.draft";
  test::writeAll(draft, "half of it");
  const fs::path notes = directory_ / "notes.draft";
  test::writeAll(notes, "somebody's own");
  pack();
  EXPECT_FALSE(fs::exists(draft));
  EXPECT_TRUE(fs::exists(notes));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), {}), 2);
}

TEST_F(PackTest, WhereThereIsNoTraceItSaysSo) {
  const auto report = tracefile::packTrace(rings_.path(), {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.failure().sentence,
            rings_.path().native() + ": holds no trace (there is no file *.omnio in it)");
}

TEST_F(PackTest, SeveralContainersAtOnceAreAllPacked) {
  std::vector<std::string> bytes;
  for (int i = 0; i < 40; ++i) {
    ContainerBuilder container(kToken + static_cast<std::uint64_t>(i), test::kDeadPid);
    container.facts(test::usualFacts(i, 40));
    ChunkBuilder chunk(container.header.token, 0, 0, 0);
    for (std::uint64_t n = 0; n < 100; ++n) chunk.write(2000 + 100 * n, 2050 + 100 * n, 8);
    container.chunk(chunk).ended(100);
    bytes.push_back(container.bytes());
    container.save(directory_ / fmt::format("node1.{}.0.omnio", i));
  }
  std::uint64_t told = 0;
  tracefile::PackOptions options{.jobs = 4};
  options.progress = [&told](std::uint64_t done, std::uint64_t all) {
    EXPECT_LE(told, done);
    EXPECT_LE(done, all);
    told = done;
  };
  const auto packed = tracefile::packTrace(directory_.path(), options);
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed->changed, 40U);
  EXPECT_EQ(packed->events, 4000U);
  EXPECT_GT(told, 0U);
  const auto restored = tracefile::packTrace(directory_.path(), {.restore = true, .jobs = 4});
  ASSERT_TRUE(restored.ok());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_TRUE(test::readAll(directory_ / fmt::format("node1.{}.0.omnio", i)) == bytes[i]) << i;
  }
}

}  // namespace
}  // namespace omnio
