// A packed trace is read as before, damage and all, and damage done to it costs what it hits.
#include "core/tracefile/pack_trace.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
#include "core/tracefile/process.hpp"
#include "core/tracefile/trace.hpp"
#include "core/wire/info.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio {
namespace {

namespace fs = std::filesystem;
using test::ChunkBuilder;
using test::ContainerBuilder;
using test::kToken;

ChunkBuilder variedWrites(std::uint32_t sequence, std::uint64_t first, std::uint64_t count,
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
      .chunk(variedWrites(0, 0, 40))
      .chunk(variedWrites(0, 0, 3, 1))
      .chunk(variedWrites(1, 40, 30))
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

  tracefile::PackReport pack() {
    const base::Result<tracefile::PackReport> report =
        tracefile::packTrace(directory_.path(), {.assume_ended = true});
    if (!report) throw std::runtime_error(report.failure().sentence);
    if (!report->troubles.empty()) throw std::runtime_error(report->troubles.front());
    return *report;
  }

  std::string refusal(const tracefile::PackOptions& options = {}) {
    const std::string before = stored();
    const base::Result<tracefile::PackReport> report =
        tracefile::packTrace(directory_.path(), options);
    EXPECT_EQ(stored(), before);
    if (!report) return report.failure().sentence;
    return report->troubles.empty() ? "(done)" : report->troubles.front();
  }

  // Damage lies elsewhere in a packed file.
  static std::string withoutOffset(std::string reason) {
    const std::string before = "from byte ";
    const std::size_t at = reason.find(before);
    if (at == std::string::npos) return reason;
    const std::size_t number = at + before.size();
    return reason.erase(number, reason.find(' ', number) - number);
  }

  // All that a reader can tell of the trace.
  std::string allThatIsRead() const {
    const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_.path());
    if (!trace) return trace.failure().sentence;
    std::string text;
    event::PathTable paths;
    const tracefile::Wholeness wholeness = tracefile::assess(*trace);
    for (const std::string& reason : wholeness.reasons) text += withoutOffset(reason) + "\n";
    text += tracefile::missingSentence(wholeness) + "\n";
    for (const auto& process : trace->processes()) {
      for (const tracefile::Damage& damage : process->damage) {
        text += fmt::format("damage of {} bytes\n", damage.bytes);
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
    const std::string read = allThatIsRead();
    pack();
    EXPECT_EQ(allThatIsRead(), read) << what;
    EXPECT_EQ(pack().changed, 0U) << what;
  }

  test::TemporaryDirectory directory_;
  test::TemporaryDirectory rings_;
  fs::path file_ = directory_ / "node1.1.0.omnio";
};

TEST_F(PackTest, IsReadAsBefore) {
  save(threeChunks().bytes());
  const auto recorded = fs::file_size(file_);
  expectSameAfterPacking("whole");
  EXPECT_LT(fs::file_size(file_), recorded);
}

TEST_F(PackTest, IsSmallerAndSaysHowMuch) {
  ContainerBuilder container(kToken, test::kDeadPid);
  container.facts(test::usualFacts()).chunk(variedWrites(0, 0, 5000)).ended(5000);
  save(container.bytes());
  const auto recorded = fs::file_size(file_);
  const tracefile::PackReport report = pack();
  EXPECT_EQ(report.containers, 1U);
  EXPECT_EQ(report.changed, 1U);
  EXPECT_EQ(report.events, 5000U);
  EXPECT_EQ(report.bytes_before, recorded);
  EXPECT_EQ(report.bytes_after, fs::file_size(file_));
  EXPECT_LT(report.bytes_after, recorded / 2);
}

TEST_F(PackTest, ASecondTimeChangesNothing) {
  save(threeChunks().bytes());
  pack();
  const std::string packed = stored();
  EXPECT_EQ(pack().changed, 0U);
  EXPECT_EQ(stored(), packed);
}

// Payloads that zstd makes no smaller stay as they are; a file of nothing else is not touched.
TEST_F(PackTest, WhatIsNotMadeSmallerStays) {
  ContainerBuilder container(kToken, test::kDeadPid);
  container.facts(test::usualFacts());
  for (std::uint32_t log = 0; log < 50; ++log) {
    ChunkBuilder chunk(kToken, log, 0, 0);
    chunk.text(0, fmt::format("/{}", log));
    container.chunk(chunk.event(test::numberOf("unlink"), {.start = 3000, .end = 3100}));
  }
  save(container.ended(50).bytes());
  const std::string before = stored();
  EXPECT_EQ(pack().changed, 0U);
  EXPECT_TRUE(stored() == before);
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

TEST_F(PackTest, RemnantsStayAndHolesTakeNoRoom) {
  const ContainerBuilder container = threeChunks();
  std::string bytes = container.bytes();
  for (const std::size_t at : {1000, 1100, 4095}) bytes[at] = 'h';  // of the header block
  bytes += std::string(3 << 20, '\0') + std::string(5000, 'x') + std::string(100, '\0') +
           variedWrites(2, 70, 4).bytes() + std::string(1 << 20, '\0') + "end" +
           std::string(77, '\0');
  save(bytes);
  expectSameAfterPacking("remnants");
  const auto blocks = [this] {
    struct stat status {};
    EXPECT_EQ(stat(file_.c_str(), &status), 0);
    return status.st_blocks * 512;
  };
  EXPECT_LT(blocks(), 3 << 20);
  // A hole and not zeros.
  save(container.bytes());
  fs::resize_file(file_, 1 << 30);
  expectSameAfterPacking("a hole at the end");
  EXPECT_LT(fs::file_size(file_), 10'000U);
}

// The end of the file cuts a chunk, and what was cut off was all zeros: as many bytes are cut.
TEST_F(PackTest, ADamagedLastChunkOfZerosStaysAsLong) {
  std::string bytes = threeChunks().bytes();
  std::string last = variedWrites(2, 70, 400).bytes();
  std::fill(last.begin() + 1000, last.end(), '\0');
  save(bytes + last);
  expectSameAfterPacking("damaged, not cut");
  save(bytes + last.substr(0, 1500));
  expectSameAfterPacking("cut");
}

// Readers find chunks first and read them later; meanwhile the file may become another one.
TEST_F(PackTest, WhoReadsWhileItIsPackedReadsTheSame) {
  save(threeChunks().bytes());
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_.path());
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(pack().changed, 1U);
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

// Damage done to the packed file costs the chunk that it hits.
TEST_F(PackTest, DamageAfterPackingCostsOneChunk) {
  save(threeChunks().bytes());
  pack();
  const std::string packed = stored();
  const auto expectTold = [this](std::uint64_t least, std::size_t at) {
    const auto trace = tracefile::Trace::open(directory_.path());
    ASSERT_TRUE(trace.ok());
    const tracefile::Wholeness wholeness = tracefile::assess(*trace);
    EXPECT_GE(wholeness.events, least) << at;
    EXPECT_EQ(wholeness.events + wholeness.events_missing, 73U) << at;
    EXPECT_EQ(wholeness.whole, wholeness.events_missing == 0 && wholeness.reasons.empty()) << at;
  };
  expectTold(73, 0);
  for (std::size_t at = wire::kContainerHeaderBytes; at < packed.size(); ++at) {
    std::string bytes = packed;
    bytes[at] ^= 0x55;
    save(bytes);
    expectTold(33, at);
  }
  for (std::size_t bytes = wire::kContainerHeaderBytes; bytes < packed.size(); ++bytes) {
    save(packed.substr(0, bytes));
    expectTold(0, bytes);
  }
}

// Whole by its checksum, but not what zstd writes: the events are counted as missing.
TEST_F(PackTest, APackedChunkThatCannotBeUnpackedIsMissing) {
  ChunkBuilder chunk = variedWrites(0, 0, 40);
  tracefile::PayloadPacker packer(tracefile::kDefaultPackLevel);
  const std::string frame(packer.pack(chunk.payload()));
  for (std::string payload : {frame.substr(0, frame.size() - 1), std::string("no frame"),
                              std::string(), frame + "more"}) {
    wire::ChunkHeader header = chunk.header;
    header.kind = wire::ChunkKind::kPackedEvents;
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    header.payload_check = wire::checksum(payload.data(), payload.size());
    wire::stamp(header);
    ContainerBuilder container(kToken, test::kDeadPid);
    container.facts(test::usualFacts());
    container.body += std::string(reinterpret_cast<const char*>(&header), sizeof header) + payload;
    container.body.resize(wire::aligned(container.body.size()));
    save(container.chunk(variedWrites(1, 40, 30)).ended(70).bytes());
    const std::string read = allThatIsRead();
    EXPECT_NE(read.find("log 0 undecodable 40"), std::string::npos) << read;
    expectSameAfterPacking("a chunk that cannot be unpacked");
  }
}

TEST_F(PackTest, WhatIsCollectedAfterwardsIsAdded) {
  ContainerBuilder container(kToken, test::kDeadPid);
  // It ended with its device full: its rings hold what it could not write.
  container.facts(test::usualFacts()).chunk(variedWrites(0, 0, 40)).ended(40, 400, 28);
  const ChunkBuilder late = variedWrites(1, 40, 400);
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
  const std::string read = allThatIsRead();

  save(container.bytes());
  EXPECT_EQ(pack().changed, 1U);
  collectLate();
  EXPECT_EQ(allThatIsRead(), read);
  const auto partly_packed = fs::file_size(file_);
  EXPECT_EQ(pack().changed, 1U);
  EXPECT_EQ(allThatIsRead(), read);
  EXPECT_LT(fs::file_size(file_), partly_packed);
  EXPECT_EQ(pack().changed, 0U);
}

TEST_F(PackTest, EventsInMemoryAreCollectedFirst) {
  save(threeChunks().bytes());
  const ChunkBuilder late = variedWrites(2, 70, 3);
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
    container.facts(factsOfThisProcess()).chunk(variedWrites(0, 0, 4));
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
  container.facts(test::usualFacts()).chunk(variedWrites(0, 0, 40)).running(40);
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
  container.facts(facts).chunk(variedWrites(0, 0, 4)).running(4);
  save(container.bytes());
  EXPECT_NE(refusal().find("did not say that it ended"), std::string::npos) << refusal();
  facts[wire::info::kPidNamespace] = tracefile::thisPidNamespace();
  ContainerBuilder here(kToken, static_cast<std::uint32_t>(getpid()));
  here.facts(facts).chunk(variedWrites(0, 0, 4)).running(4);
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

// The device is full: nothing but the sentence.
TEST_F(PackTest, WithoutRoomTheTraceStaysAsItIs) {
  ContainerBuilder container(kToken, test::kDeadPid);
  container.facts(test::usualFacts()).chunk(variedWrites(0, 0, 5000)).ended(5000);
  save(container.bytes());
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{.rlim_cur = 5000, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string why = refusal();
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_TRUE(why.starts_with("cannot write " + file_.native() + ".")) << why;
  EXPECT_TRUE(why.ends_with(".draft: File too large")) << why;
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), {}), 1);
}

// Killed at any moment, there is the container, as it was or packed, and no other file that is
// read.
TEST_F(PackTest, WhateverMomentItIsKilledAtTheTraceIsRead) {
  ContainerBuilder container(kToken, test::kDeadPid);
  container.facts(test::usualFacts());
  for (std::uint32_t i = 0; i < 20; ++i) container.chunk(variedWrites(i, 200 * i, 200));
  const std::string recorded = container.ended(4000).bytes();
  save(recorded);
  const std::string read = allThatIsRead();
  pack();
  const std::string packed = stored();
  for (int killed_at = 0; killed_at < 20; ++killed_at) {
    save(recorded);
    const pid_t child = fork();
    if (child == 0) {
      int chunks = 0;
      tracefile::PackOptions options{.assume_ended = true};
      options.progress = [&](std::uint64_t, std::uint64_t) {
        if (chunks++ == killed_at) kill(getpid(), SIGKILL);
      };
      (void)tracefile::packTrace(directory_.path(), options);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << killed_at;
    EXPECT_TRUE(stored() == recorded) << killed_at;
    EXPECT_EQ(allThatIsRead(), read) << killed_at;
    EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), {}), 2) << killed_at;
    pack();
    EXPECT_TRUE(stored() == packed) << killed_at;
    EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), {}), 1) << killed_at;
  }
}

TEST_F(PackTest, DraftsOfWhoWasKilledAreRemoved) {
  save(threeChunks().bytes());
  const fs::path draft = directory_ / "node1.1.0.omnio.BadCaf.draft";
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
            rings_.path().native() + ": holds no trace (no file *.omnio in it)");
}

TEST_F(PackTest, SeveralContainersAtOnceAreAllPacked) {
  for (int i = 0; i < 40; ++i) {
    ContainerBuilder container(kToken + static_cast<std::uint64_t>(i), test::kDeadPid);
    container.facts(test::usualFacts(i, 40));
    ChunkBuilder chunk(container.header.token, 0, 0, 0);
    for (std::uint64_t n = 0; n < 100; ++n) chunk.write(2000 + 100 * n, 2050 + 100 * n, 8);
    container.chunk(chunk).ended(100);
    container.save(directory_ / fmt::format("node1.{}.0.omnio", i));
  }
  const std::string read = allThatIsRead();
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
  EXPECT_EQ(allThatIsRead(), read);
}

}  // namespace
}  // namespace omnio
