#include "core/tracefile/collect.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/tracefile/completeness.hpp"
#include "core/tracefile/container_file.hpp"
#include "core/tracefile/trace.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio {
namespace {

namespace fs = std::filesystem;
using test::ChunkBuilder;
using test::ContainerBuilder;
using test::kToken;

ChunkBuilder chunkOf(std::uint32_t sequence, std::uint64_t first, std::uint64_t count) {
  ChunkBuilder chunk(kToken, 0, sequence, first, 1000 * (first + 1));
  for (std::uint64_t n = first; n < first + count; ++n) {
    chunk.write(1000 * (n + 1), 1000 * (n + 1) + 50, 512);
  }
  return chunk;
}

class CollectTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("OMNIO_RING_DIR", rings_.path().c_str(), 1);
    ContainerBuilder container(kToken, test::kDeadPid);
    container.facts(test::usualFacts()).chunk(first_).running();
    container.save(container_);
    test::RingSpec spec{.token = kToken,
                        .pid = test::kDeadPid,
                        .trace_directory = directory_.path(),
                        .closed = {&first_, &second_},
                        .open = &third_};
    test::saveRing(ring(0), spec);
    spec.closed = {};
    spec.open = nullptr;
    test::saveRing(ring(1), spec);
  }
  void TearDown() override { unsetenv("OMNIO_RING_DIR"); }

  tracefile::Wholeness wholeness() const {
    return tracefile::assess(*tracefile::Trace::open(directory_.path()));
  }
  fs::path ring(unsigned number) const {
    return rings_ / test::ringName(directory_.path(), kToken, number);
  }
  bool ringsAreGone() const { return fs::is_empty(rings_.path()); }

  test::TemporaryDirectory directory_;
  test::TemporaryDirectory rings_;
  fs::path container_ = directory_ / fmt::format("node1.{}.0.omnio", test::kDeadPid);
  ChunkBuilder first_ = chunkOf(0, 0, 4);
  ChunkBuilder second_ = chunkOf(1, 4, 2);
  ChunkBuilder third_ = chunkOf(2, 6, 3);
};

TEST_F(CollectTest, BringsTheTailIntoTheContainerAndRemovesTheRings) {
  const tracefile::Wholeness before = wholeness();
  const tracefile::CollectReport report = tracefile::collectRings(directory_.path());
  EXPECT_TRUE(report.troubles.empty()) << report.troubles.front();
  EXPECT_EQ(report.processes, 1U);
  EXPECT_EQ(report.rings, 2U);
  EXPECT_EQ(report.events, 5U);
  EXPECT_TRUE(ringsAreGone());
  const tracefile::Wholeness after = wholeness();
  EXPECT_EQ(after.events, 9U);
  EXPECT_EQ(after.events, before.events);
  EXPECT_EQ(after.reasons, before.reasons);
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_.path());
  const auto& account = trace->processes().front()->account;
  ASSERT_TRUE(account);
  EXPECT_EQ(account->state, wire::AccountState::kCollected);
  EXPECT_EQ(account->events_written, 9U);
}

TEST_F(CollectTest, ASecondTimeThereIsNothingToDo) {
  tracefile::collectRings(directory_.path());
  const std::string bytes = test::readAll(container_);
  const tracefile::CollectReport report = tracefile::collectRings(directory_.path());
  EXPECT_EQ(report.processes, 0U);
  EXPECT_EQ(report.events, 0U);
  EXPECT_EQ(test::readAll(container_), bytes);
}

TEST_F(CollectTest, CollectorsAtOnceBringEverythingOnce) {
  tracefile::CollectReport reports[4];
  std::vector<std::thread> threads;
  for (tracefile::CollectReport& report : reports) {
    threads.emplace_back([&] { report = tracefile::collectRings(directory_.path()); });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t events = 0;
  for (const tracefile::CollectReport& report : reports) {
    EXPECT_TRUE(report.troubles.empty());
    events += report.events;
  }
  EXPECT_EQ(events, 5U);
  EXPECT_EQ(wholeness().events, 9U);
  EXPECT_EQ(tracefile::Trace::open(directory_.path())->processes().front()->damage.size(), 0U);
  EXPECT_TRUE(ringsAreGone());
}

TEST_F(CollectTest, InterruptedBeforeTheRingsWereRemovedItCanBeRunAgain) {
  const std::string bytes = test::readAll(ring(0));
  tracefile::collectRings(directory_.path());
  test::writeAll(ring(0), bytes);
  const tracefile::CollectReport report = tracefile::collectRings(directory_.path());
  EXPECT_EQ(report.events, 0U);
  EXPECT_EQ(report.rings, 1U);
  EXPECT_EQ(wholeness().events, 9U);
}

TEST_F(CollectTest, ARunningProcessKeepsItsRings) {
  test::TemporaryDirectory other;
  std::string stat = test::readAll("/proc/self/stat");
  stat = stat.substr(stat.rfind(')') + 2);
  for (int field = 3; field < 22; ++field) stat = stat.substr(stat.find(' ') + 1);
  test::saveRing(ring(0), {.token = kToken,
                           .pid = static_cast<std::uint32_t>(getpid()),
                           .process_start = std::stoull(stat),
                           .trace_directory = directory_.path(),
                           .open = &third_});
  const tracefile::CollectReport report = tracefile::collectRings(directory_.path());
  EXPECT_EQ(report.running, 1U);
  EXPECT_EQ(report.processes, 0U);
  EXPECT_TRUE(fs::exists(ring(0)));
  EXPECT_TRUE(fs::exists(ring(1)));
}

// A limit instead of a full device: what it does to write() is the same.
tracefile::CollectReport collectWithin(std::uint64_t file_bytes, const fs::path& trace) {
  rlimit limit{};
  EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{.rlim_cur = file_bytes, .rlim_max = limit.rlim_max};
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  tracefile::CollectReport report = tracefile::collectRings(trace);
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  return report;
}

TEST_F(CollectTest, WhereNothingCanBeWrittenTheRingsStay) {
  const std::string before = test::readAll(container_);
  const tracefile::CollectReport report = collectWithin(before.size(), directory_.path());
  ASSERT_EQ(report.troubles.size(), 1U);
  EXPECT_EQ(report.troubles[0],
            fmt::format("{}: File too large; 5 events of process {} stay in {}: free space and run "
                        "`omnio collect {}`, or give them up with `omnio collect {} --discard`",
                        container_.native(), test::kDeadPid, rings_.path().native(),
                        directory_.path().native(), directory_.path().native()));
  EXPECT_EQ(test::readAll(container_), before);
  EXPECT_FALSE(ringsAreGone());
  EXPECT_EQ(wholeness().events, 9U);
}

TEST_F(CollectTest, TriesThatFailDoNotEatTheSpaceThatIsLeft) {
  test::saveRing(ring(0), {.token = kToken,
                           .pid = test::kDeadPid,
                           .trace_directory = directory_.path(),
                           .facts = {{{"stops", "1"}, {"host", "node1"}}, {{"stops", "2"}}},
                           .closed = {&first_, &second_},
                           .open = &third_});
  const std::uint64_t room = fs::file_size(container_) + 1000;
  const ChunkBuilder big = chunkOf(3, 9, 500);
  test::saveRing(
      ring(1),
      {.token = kToken, .pid = test::kDeadPid, .trace_directory = directory_.path(), .open = &big});
  const tracefile::CollectReport first = collectWithin(room, directory_.path());
  EXPECT_EQ(first.events, 5U);
  const std::string after = test::readAll(container_);
  for (int again = 0; again < 3; ++again) {
    const tracefile::CollectReport report = collectWithin(room, directory_.path());
    ASSERT_EQ(report.troubles.size(), 1U);
    EXPECT_NE(report.troubles[0].find("; 500 events of process"), std::string::npos)
        << report.troubles[0];
    EXPECT_EQ(report.events, 0U);
    EXPECT_EQ(test::readAll(container_), after);
  }
  EXPECT_EQ(wholeness().events, 509U);
  const tracefile::CollectReport last = tracefile::collectRings(directory_.path());
  EXPECT_TRUE(last.troubles.empty()) << last.troubles.front();
  EXPECT_EQ(last.events, 500U);
  EXPECT_TRUE(ringsAreGone());
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_.path());
  EXPECT_EQ(trace->processes().front()->info.text("stops"), "2");
  EXPECT_EQ(wholeness().events, 509U);
}

TEST_F(CollectTest, AContainerThatCannotBeMadeLeavesNothingBehind) {
  fs::remove(container_);
  ContainerBuilder(kToken + 1)
      .facts(test::usualFacts())
      .ended(0)
      .save(directory_ / "node1.1.0.omnio");
  for (int again = 0; again < 2; ++again) {
    const tracefile::CollectReport report = collectWithin(100, directory_.path());
    ASSERT_EQ(report.troubles.size(), 1U);
    EXPECT_NE(report.troubles[0].find("File too large; 9 events of process"), std::string::npos)
        << report.troubles[0];
    EXPECT_EQ(tracefile::containersIn(directory_.path())->size(), 1U);
  }
  EXPECT_EQ(wholeness().events, 9U);
}

TEST_F(CollectTest, AContainerWithinWhoseHeaderTheDeviceWasFullTakesTheTail) {
  fs::resize_file(container_, 1000);
  const tracefile::CollectReport report = tracefile::collectRings(directory_.path());
  EXPECT_TRUE(report.troubles.empty()) << report.troubles.front();
  EXPECT_TRUE(ringsAreGone());
  EXPECT_EQ(wholeness().events, 9U);
}

TEST_F(CollectTest, AChunkThatIsThereInPartIsCompletedOnce) {
  const ChunkBuilder part = chunkOf(1, 4, 1);
  ContainerBuilder container(kToken, test::kDeadPid);
  container.facts(test::usualFacts()).chunk(first_).chunk(part).running();
  container.save(container_);
  // All but the last chunk fits, at each try.
  const ChunkBuilder big = chunkOf(3, 9, 500);
  test::saveRing(
      ring(1),
      {.token = kToken, .pid = test::kDeadPid, .trace_directory = directory_.path(), .open = &big});
  const std::uint64_t room = fs::file_size(container_) + 1000;
  EXPECT_EQ(collectWithin(room, directory_.path()).events, 4U);
  const std::string after = test::readAll(container_);
  EXPECT_EQ(collectWithin(room, directory_.path()).events, 0U);
  EXPECT_EQ(test::readAll(container_), after);
  tracefile::collectRings(directory_.path());
  EXPECT_EQ(wholeness().events, 509U);
  EXPECT_EQ(tracefile::Trace::open(directory_.path())->processes().front()->account->events_written,
            509U);
}

TEST_F(CollectTest, ALockThatIsNeverGivenBackIsNotWaitedForWithoutEnd) {
  const int held = ::open(container_.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  EXPECT_FALSE(tracefile::lockContainer(container_, std::chrono::milliseconds(20)));
  const int mine = ::open(container_.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_EQ(tracefile::lockWithin(mine, std::chrono::milliseconds(20)), tracefile::Locked::kBusy);
  ::close(held);
  EXPECT_EQ(tracefile::lockWithin(mine, std::chrono::milliseconds(20)), tracefile::Locked::kYes);
  ::close(mine);
  EXPECT_TRUE(tracefile::lockContainer(container_, std::chrono::milliseconds(20)));
  EXPECT_EQ(tracefile::busyFailure(container_).sentence,
            container_.native() +
                ": another `omnio collect` or `omnio pack` has been at work on it for 60 s; end "
                "it, or wait");
}

TEST_F(CollectTest, AProcessThatCouldCreateNoContainerGetsOne) {
  fs::remove(container_);
  ContainerBuilder other(kToken + 1);
  other.facts(test::usualFacts()).ended(0).save(directory_ / "node1.1.0.omnio");
  const tracefile::CollectReport report = tracefile::collectRings(directory_.path());
  EXPECT_TRUE(report.troubles.empty()) << report.troubles.front();
  EXPECT_EQ(report.events, 9U);
  EXPECT_TRUE(ringsAreGone());
  EXPECT_EQ(wholeness().events, 9U);
}

TEST_F(CollectTest, WhatTheProcessCountedAsLostAndComesBackIsLostNoMore) {
  // It ended by itself on a full device and left its account in the ring.
  test::saveRing(ring(0), {.token = kToken,
                           .pid = test::kDeadPid,
                           .trace_directory = directory_.path(),
                           .note = wire::Account{.state = wire::AccountState::kEnded,
                                                 .error = ENOSPC,
                                                 .events_written = 4,
                                                 .events_lost = 7},
                           .open = &second_});
  EXPECT_EQ(wholeness().events_missing, 5U);
  tracefile::collectRings(directory_.path());
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_.path());
  const auto& account = trace->processes().front()->account;
  EXPECT_EQ(account->state, wire::AccountState::kEnded);
  EXPECT_EQ(account->events_written, 6U);
  EXPECT_EQ(account->events_lost, 5U);
  EXPECT_EQ(wholeness().events_missing, 5U);
}

}  // namespace
}  // namespace omnio
