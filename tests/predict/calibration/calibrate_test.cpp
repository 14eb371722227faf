#include "predict/calibration/calibrate.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include "predict/calibration/grid.hpp"
#include "predict/calibration/work_directory.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::predict {
namespace {

namespace fs = std::filesystem;

class Calibrate : public testing::Test {
 protected:
  Calibrate() {
    fs::create_directory(target_);
    settings_.target = target_;
    settings_.output = directory_ / "c.json";
    settings_.cache = CacheState::kCached;
    settings_.processes = 2;
    settings_.accesses = 10;
    settings_.largest_bytes = 4096;
    settings_.tool = "omnio test";
    settings_.stop_signal = &stop_;
  }

  bool targetIsEmpty() const { return fs::is_empty(target_); }

  // Calibrates until the document has what this session, the first or a later one, has measured.
  base::Result<CalibrateOutcome> stoppedIn(std::uint64_t session) {
    std::atomic<bool> has_ended = false;
    std::thread stopper([this, session, &has_ended] {
      while (!has_ended) {
        const auto document = readCalibration(settings_.output);
        if (document && document->sessions == session) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      stop_ = 2;
    });
    auto outcome = calibrate(settings_);
    has_ended = true;
    stopper.join();
    stop_ = 0;
    return outcome;
  }

  test::TemporaryDirectory directory_;
  const fs::path target_ = directory_ / "target";
  std::atomic<int> stop_ = 0;
  CalibrateSettings settings_;
};

TEST_F(Calibrate, ReachesAllCellsAndLeavesNothing) {
  const auto outcome = calibrate(settings_);
  ASSERT_TRUE(outcome) << outcome.failure().sentence;
  EXPECT_FALSE(outcome->is_stopped);
  EXPECT_TRUE(targetIsEmpty());
  const auto document = readCalibration(settings_.output);
  ASSERT_TRUE(document) << document.failure().sentence;
  EXPECT_TRUE(document->unreached.empty());
  std::set<CellKey> keys;
  for (const Unit& unit : unitsOf({.processes = 2, .largest_bytes = 4096})) {
    for (const CellKey& key : cellsOf(unit)) keys.insert(key);
  }
  EXPECT_EQ(document->cells.size(), keys.size());
  for (const Cell& cell : document->cells) {
    EXPECT_TRUE(keys.contains(cell.key)) << textOf(cell.key);
    EXPECT_GE(cell.all.count(), 10 * cell.key.processes) << textOf(cell.key);
    EXPECT_GE(cell.sampled(), 10U) << textOf(cell.key);
    // All processes, in several rounds.
    std::set<std::uint32_t> processes;
    std::set<std::uint32_t> rounds;
    for (const AccessRun& run : cell.runs) {
      processes.insert(run.process);
      rounds.insert(run.round);
      EXPECT_EQ(run.offsets.size(), isAccess(cell.key.operation) ? run.times_ns.size() : 0);
    }
    EXPECT_EQ(processes.size(), cell.key.processes) << textOf(cell.key);
    EXPECT_GT(rounds.size(), 1U) << textOf(cell.key);
  }
  EXPECT_FALSE(document->references.empty());
  EXPECT_EQ(document->target.path, fs::canonical(target_).native());
}

TEST_F(Calibrate, GoesOnWhereItWasStopped) {
  settings_.accesses = 100'000;  // which takes longer than to write the first document
  const auto first = stoppedIn(1);
  ASSERT_TRUE(first) << first.failure().sentence;
  EXPECT_TRUE(first->is_stopped);
  EXPECT_TRUE(targetIsEmpty());
  EXPECT_FALSE(first->calibration.cells.empty());
  const auto before = readCalibration(settings_.output);
  ASSERT_TRUE(before) << before.failure().sentence;

  settings_.resumed = *before;
  const auto second = stoppedIn(2);
  ASSERT_TRUE(second) << second.failure().sentence;
  EXPECT_TRUE(second->is_stopped);
  EXPECT_EQ(second->calibration.sessions, 2U);
  EXPECT_GT(second->calibration.spent_ns, before->spent_ns);
  for (const Cell& cell : before->cells) {
    const Cell* after = second->calibration.find(cell.key);
    ASSERT_NE(after, nullptr);
    EXPECT_GE(after->all.count(), cell.all.count());
    EXPECT_EQ(after->runs.front().times_ns, cell.runs.front().times_ns);
  }
  EXPECT_TRUE(targetIsEmpty());

  settings_.processes = 3;
  const auto other = calibrate(settings_);
  ASSERT_FALSE(other);
  EXPECT_EQ(
      other.failure().sentence,
      settings_.output.native() + ": it cannot be gone on with: --processes was 2, and is 3 now");

  settings_.processes = 2;
  settings_.resumed->has_malloc_memory = false;
  const auto older = calibrate(settings_);
  ASSERT_FALSE(older);
  EXPECT_EQ(older.failure().sentence,
            settings_.output.native() +
                ": it cannot be gone on with: its accesses moved memory on other boundaries than "
                "those of malloc; --force begins anew");
}

TEST_F(Calibrate, WhatAKilledOneLeftIsRemoved) {
  // No process has this number, and none began then.
  std::vector<std::string> notes;
  std::string name;
  {
    const auto made = WorkDirectory::make(target_, notes);
    ASSERT_TRUE(made);
    name = (*made)->path().filename().native();
    // It is of this process, which lives.
    const auto second = WorkDirectory::make(target_, notes);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.failure().sentence,
              target_.native() + ": process " + std::to_string(getpid()) +
                  " calibrates this target; two at a time would measure each other");
  }
  EXPECT_TRUE(targetIsEmpty());
  const std::string left = name.substr(0, name.rfind('.')) + ".1";
  fs::create_directories(target_ / left / "own");
  fs::create_directory(target_ / "omnio-calibrate.other-host.1.1");
  // The same name of a host, but another container of it.
  const std::string container =
      name.substr(0, name.rfind('.', left.rfind('.') - 1) - 16) + "0123456789abcdef.1.1";
  fs::create_directory(target_ / container);
  fs::create_directory(target_ / "omnio-calibrate.mine");
  fs::create_symlink("/", target_ / (left + "1"));
  ASSERT_TRUE(WorkDirectory::make(target_, notes));
  EXPECT_EQ(notes.size(), 3U);
  EXPECT_FALSE(fs::exists(target_ / left));
  EXPECT_TRUE(fs::exists(target_ / "omnio-calibrate.other-host.1.1"));
  EXPECT_TRUE(fs::exists(target_ / container));
  EXPECT_TRUE(fs::exists(target_ / "omnio-calibrate.mine"));
  EXPECT_TRUE(fs::is_symlink(target_ / (left + "1")));
}

// Its process cannot be seen from here.
TEST_F(Calibrate, OneInAnotherContainerHasTheTargetLocked) {
  const int other = ::open(target_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  EXPECT_EQ(calibrate(settings_).failure().sentence,
            target_.native() +
                ": another process has locked this target, as a calibration in another container "
                "does; two at a time would measure each other");
  ::close(other);
  EXPECT_TRUE(targetIsEmpty());
  std::vector<std::string> notes;
  EXPECT_TRUE(WorkDirectory::make(target_, notes));
}

TEST_F(Calibrate, BadTargetsAreRefusedInASentence) {
  settings_.budget_ns = 1'000'000'000;
  EXPECT_EQ(calibrate(settings_).failure().sentence,
            "--budget: 1 s are too short to prepare, measure and clean up; the least is 5 s");
  settings_.budget_ns = 5'000'000'000;
  settings_.target = directory_ / "none";
  EXPECT_EQ(calibrate(settings_).failure().sentence,
            settings_.target.native() + ": No such file or directory");
  settings_.target = directory_ / "file";
  ::close(::open(settings_.target.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  EXPECT_EQ(calibrate(settings_).failure().sentence,
            settings_.target.native() + ": Not a directory");
  settings_.target = target_;
  settings_.output = directory_ / "none" / "c.json";
  EXPECT_EQ(calibrate(settings_).failure().sentence,
            "cannot write " + settings_.output.native() + ": No such file or directory");
  EXPECT_TRUE(targetIsEmpty());
}

}  // namespace
}  // namespace omnio::predict
