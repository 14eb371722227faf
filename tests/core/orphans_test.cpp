// Rings of runs that are over, and what processes leave that could make neither log nor ring. The
// usual ring directories are looked at too: only what is in the test's own is asserted.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "core/tracefile/collect.hpp"
#include "core/tracefile/completeness.hpp"
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
using test::TemporaryDirectory;

class RingsLeftTest : public testing::Test {
 protected:
  RingsLeftTest() { setenv("OMNIO_RING_DIR", rings_.path().c_str(), 1); }
  ~RingsLeftTest() override { unsetenv("OMNIO_RING_DIR"); }

  test::RingSpec dead(std::uint64_t token = kToken) const {
    return {.token = token, .pid = test::kDeadPid, .trace_directory = directory_.path()};
  }
  test::RingSpec running(std::uint64_t token = kToken) const {
    test::RingSpec spec = dead(token);
    spec.pid = static_cast<std::uint32_t>(getpid());
    spec.process_start = tracefile::startOf(spec.pid).value();
    return spec;
  }
  wire::Supervisor thisProcess() const {
    const auto pid = static_cast<std::uint32_t>(getpid());
    return {.pid = pid,
            .start = tracefile::startOf(pid).value(),
            .boot = tracefile::bootNumber(tracefile::thisBoot())};
  }
  fs::path save(const test::RingSpec& spec, unsigned number = 0) const {
    fs::path path = rings_ / test::ringName(spec.trace_directory, spec.token, number);
    test::saveRing(path, spec);
    return path;
  }
  bool isHere(const fs::path& path) const { return path.parent_path() == rings_.path(); }
  // Groups and unfinished files of the test's directory alone.
  tracefile::Orphans orphans() const {
    tracefile::Orphans all = tracefile::findOrphans();
    std::erase_if(all.groups, [this](const tracefile::Orphans::Group& group) {
      return !isHere(group.rings.front());
    });
    std::erase_if(all.unfinished, [this](const fs::path& path) { return !isHere(path); });
    return all;
  }

  TemporaryDirectory directory_;
  TemporaryDirectory rings_;
};

using OrphansTest = RingsLeftTest;

TEST_F(OrphansTest, AreRingsOfDeadProcessesByRun) {
  ChunkBuilder chunk(kToken, 0, 0, 0);
  chunk.write(2000, 2050, 512).write(2100, 2150, 512);
  test::RingSpec first = dead();
  first.open = &chunk;
  const fs::path paths[] = {save(first), save(dead(), 1), save(dead(kToken + 1))};
  TemporaryDirectory other;
  test::RingSpec second = dead(kToken + 2);
  second.trace_directory = other / "gone";
  fs::create_directory(other / "gone");
  const fs::path other_path = save(second);
  fs::remove(other / "gone");

  tracefile::Orphans found = orphans();
  ASSERT_EQ(found.groups.size(), 2U);
  if (found.groups[0].directory != directory_.path()) std::swap(found.groups[0], found.groups[1]);
  const tracefile::Orphans::Group& there = found.groups[0];
  EXPECT_EQ(there.directory, directory_.path());
  EXPECT_TRUE(there.is_there);
  EXPECT_EQ(there.processes, 2U);
  EXPECT_EQ(there.events, 2U);
  EXPECT_EQ(there.bytes, 3 * fs::file_size(paths[0]));
  EXPECT_EQ(there.rings, std::vector<fs::path>(std::begin(paths), std::end(paths)));
  const tracefile::Orphans::Group& gone = found.groups[1];
  EXPECT_EQ(gone.directory, other / "gone");
  EXPECT_FALSE(gone.is_there);
  EXPECT_EQ(gone.processes, 1U);
  EXPECT_EQ(gone.rings, std::vector<fs::path>{other_path});
  EXPECT_TRUE(found.unfinished.empty());
  for (const fs::path& path : paths) EXPECT_TRUE(fs::exists(path));
}

TEST_F(OrphansTest, ADirectoryMadeAgainIsNotTheOneThatTheRunKnew) {
  test::RingSpec spec = dead();
  spec.directory_inode = 1;
  save(spec);
  ASSERT_EQ(orphans().groups.size(), 1U);
  EXPECT_FALSE(orphans().groups[0].is_there);
}

TEST_F(OrphansTest, AreNoneWhileAProcessOfTheRunIsThere) {
  save(dead());
  save(running(kToken + 1));
  const tracefile::Orphans found = orphans();
  EXPECT_EQ(found.groups.size(), 0U);
  EXPECT_GE(found.running, 2U);
}

TEST_F(OrphansTest, AreNoneWhileTheRunIsSupervised) {
  test::RingSpec spec = dead();
  spec.supervisor = thisProcess();
  save(spec);
  save(dead(kToken + 1));
  EXPECT_EQ(orphans().groups.size(), 0U);
  // The pid was given to another process since; or it was one of another boot.
  for (const bool is_boot : {false, true}) {
    spec.supervisor = thisProcess();
    ++(is_boot ? spec.supervisor.boot : spec.supervisor.start);
    save(spec);
    EXPECT_EQ(orphans().groups.size(), 1U) << is_boot;
  }
}

TEST_F(OrphansTest, AreNoneWhereThePidsOfTheRunAreOfAnotherNamespace) {
  test::RingSpec spec = dead();
  spec.supervisor = thisProcess();
  ++spec.supervisor.start;  // not seen here
  spec.pid_namespace = tracefile::pidNamespaceNumber();
  save(spec);
  EXPECT_EQ(orphans().groups.size(), 1U);
  ++spec.pid_namespace;
  const fs::path ring = save(spec);
  const tracefile::Orphans found = orphans();
  EXPECT_EQ(found.groups.size(), 0U);
  EXPECT_GE(found.running, 1U);
  EXPECT_TRUE(fs::exists(ring));
  // Another boot, or no `omnio trace` at all: that cannot be there any more, wherever it was.
  ++spec.supervisor.boot;
  save(spec);
  EXPECT_EQ(orphans().groups.size(), 1U);
  spec.supervisor = {};
  save(spec);
  EXPECT_EQ(orphans().groups.size(), 1U);
}

TEST_F(OrphansTest, FilesThatNobodyFinishesAreToldApartFromGarbage) {
  const fs::path zeros = rings_ / test::ringName(directory_.path(), kToken);
  const fs::path old = rings_ / "omnio-0000000000001234-0";
  const char* const garbage[] = {"omnio-garbage",
                                 "omnio-",
                                 "omnio-123-0",
                                 "omnio-0000000000001234-",
                                 "omnio-0000000000001234-x",
                                 "omnio-0000000000001234-0.txt",
                                 "omnio-00000000000012345-0"};
  test::writeAll(zeros, std::string(30000, '\0'));
  test::writeAll(old, "");
  for (const char* name : garbage) test::writeAll(rings_ / name, "");
  if (!tracefile::hasWriter(zeros)) GTEST_SKIP() << "leases are not given here";
  tracefile::Orphans found = orphans();
  EXPECT_EQ(found.groups.size(), 0U);
  std::vector<fs::path> wanted{old, zeros};
  std::sort(wanted.begin(), wanted.end());
  std::sort(found.unfinished.begin(), found.unfinished.end());
  EXPECT_EQ(found.unfinished, wanted);
  // A process is at work on it.
  const int fd = ::open(zeros.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_EQ(orphans().unfinished, std::vector<fs::path>{old});
  ::close(fd);
  EXPECT_EQ(orphans().unfinished.size(), 2U);
}

TEST_F(OrphansTest, OfOtherUsersAreCountedAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chown(save(dead()).c_str(), 54321, 54321), 0);
  const tracefile::Orphans found = orphans();
  EXPECT_EQ(found.groups.size(), 0U);
  EXPECT_GE(found.of_others, 1U);
}

// A process whose descriptors and files were used up, beside one that ended as it should.
class LostNotesTest : public RingsLeftTest {
 protected:
  LostNotesTest() {
    ContainerBuilder(kToken + 1)
        .facts(test::usualFacts())
        .ended(0)
        .save(directory_ / "node1.1.0.omnio");
  }
  void save(wire::Account account, test::RingSpec spec) const {
    spec.note = account;
    test::saveLostNote(path_, spec, "/usr/bin/program");
  }
  void save(wire::Account account) const { save(account, dead()); }
  std::vector<std::string> reasons() const {
    return tracefile::assess(*tracefile::Trace::open(directory_.path())).reasons;
  }

  const std::string name_ = test::ringName(directory_.path(), kToken);
  const fs::path path_ = rings_ / (name_.substr(0, name_.size() - 1) + "lost");
};

std::vector<std::string> lostReasons(const std::string& host, const std::string& why) {
  const std::string name = fmt::format("process {} on host {}", test::kDeadPid, host);
  return {name + " could not create its file in the trace directory",
          fmt::format("7 events of {} were dropped: {}", name, why)};
}

std::string thisHost() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  return host;
}

TEST_F(LostNotesTest, AreReadAsAProcess) {
  save({.state = wire::AccountState::kEnded, .error = EMFILE, .events_lost = 7});
  EXPECT_EQ(reasons(), lostReasons(thisHost(), "Too many open files"));
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_.path());
  ASSERT_EQ(trace->processes().size(), 2U);
  const auto process = std::find_if(trace->processes().begin(), trace->processes().end(),
                                    [](const auto& one) { return one->token == kToken; });
  ASSERT_NE(process, trace->processes().end());
  EXPECT_EQ((*process)->pid, test::kDeadPid);
  EXPECT_EQ((*process)->account->events_lost, 7U);
  EXPECT_EQ((*process)->info.text(wire::info::kProgram), "/usr/bin/program");
  EXPECT_EQ((*process)->info.text(wire::info::kBoot), tracefile::thisBoot());
}

TEST_F(LostNotesTest, NameAFilterAsTheCause) {
  save({.state = wire::AccountState::kEnded, .error = wire::kFilterError, .events_lost = 7});
  EXPECT_EQ(reasons(), lostReasons(thisHost(),
                                   "a filter of system calls, which the process set, does not "
                                   "let its log be written"));
}

TEST_F(LostNotesTest, AreCollectedIntoAContainer) {
  save({.state = wire::AccountState::kEnded, .error = EMFILE, .events_lost = 7});
  const tracefile::CollectReport report = tracefile::collectRings(directory_.path());
  EXPECT_TRUE(report.troubles.empty()) << report.troubles.front();
  EXPECT_EQ(report.processes, 1U);
  EXPECT_EQ(report.rings, 1U);
  EXPECT_FALSE(fs::is_symlink(path_));
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_.path());
  ASSERT_EQ(trace->processes().size(), 2U);
  const tracefile::Wholeness wholeness = tracefile::assess(*trace);
  EXPECT_EQ(wholeness.events_missing, 7U);
  ASSERT_FALSE(wholeness.reasons.empty());
  EXPECT_EQ(wholeness.reasons.back(), lostReasons(thisHost(), "Too many open files").back());
  const tracefile::CollectReport again = tracefile::collectRings(directory_.path());
  EXPECT_EQ(again.processes, 0U);
}

TEST_F(LostNotesTest, OfAProcessThatRunsStay) {
  save({.state = wire::AccountState::kRunning, .error = EMFILE, .events_lost = 7}, running());
  EXPECT_EQ(tracefile::collectRings(directory_.path()).running, 1U);
  EXPECT_TRUE(fs::is_symlink(path_));
}

TEST_F(LostNotesTest, AreNotBelievedOfOtherUsersOrInOtherWords) {
  test::RingSpec spec = dead();
  spec.uid = 54321;
  save({.state = wire::AccountState::kEnded, .events_lost = 7}, spec);
  EXPECT_TRUE(reasons().empty());
  EXPECT_EQ(tracefile::collectRings(directory_.path()).of_others, 1U);
  fs::remove(path_);
  fs::create_symlink("/etc/passwd", path_);
  EXPECT_TRUE(reasons().empty());
  EXPECT_EQ(tracefile::collectRings(directory_.path()).processes, 0U);
  EXPECT_TRUE(fs::is_symlink(path_));
}

TEST_F(LostNotesTest, AreOrphansOnceTheRunIsOver) {
  save({.state = wire::AccountState::kEnded, .events_lost = 7});
  const tracefile::Orphans found = orphans();
  ASSERT_EQ(found.groups.size(), 1U);
  EXPECT_EQ(found.groups[0].rings, std::vector<fs::path>{path_});
  EXPECT_EQ(found.groups[0].directory, directory_.path());
}

}  // namespace
}  // namespace omnio
