#include "core/collect.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/trace.hpp"
#include "core/wholeness.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio {
namespace {

namespace fs = std::filesystem;
using test::ChunkBuilder;
using test::ContainerBuilder;

constexpr std::uint64_t kToken = 0x1234;

ChunkBuilder writes(std::uint32_t sequence, std::uint64_t first, std::uint64_t count) {
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
    test::RingSpec ring{.token = kToken,
                        .pid = test::kDeadPid,
                        .trace_directory = directory_.path(),
                        .closed = {&first_, &second_},
                        .open = &third_};
    test::saveRing(rings_ / "omnio-0000000000001234-0", ring);
    ring.closed = {};
    ring.open = nullptr;
    test::saveRing(rings_ / "omnio-0000000000001234-1", ring);
  }
  void TearDown() override { unsetenv("OMNIO_RING_DIR"); }

  Wholeness wholeness() const { return assess(*Trace::open(directory_.path())); }
  bool ringsAreGone() const { return fs::is_empty(rings_.path()); }

  test::TemporaryDirectory directory_;
  test::TemporaryDirectory rings_;
  fs::path container_ = directory_ / fmt::format("node1.{}.0.omnio", test::kDeadPid);
  ChunkBuilder first_ = writes(0, 0, 4);
  ChunkBuilder second_ = writes(1, 4, 2);
  ChunkBuilder third_ = writes(2, 6, 3);
};

TEST_F(CollectTest, BringsTheTailIntoTheContainerAndRemovesTheRings) {
  const Wholeness before = wholeness();
  const CollectReport report = collectRings(directory_.path());
  EXPECT_TRUE(report.troubles.empty()) << report.troubles.front();
  EXPECT_EQ(report.processes, 1U);
  EXPECT_EQ(report.rings, 2U);
  EXPECT_EQ(report.events, 5U);
  EXPECT_TRUE(ringsAreGone());
  const Wholeness after = wholeness();
  EXPECT_EQ(after.events, 9U);
  EXPECT_EQ(after.events, before.events);
  EXPECT_EQ(after.reasons, before.reasons);
  const Result<Trace> trace = Trace::open(directory_.path());
  const auto& account = trace->processes().front()->account;
  ASSERT_TRUE(account);
  EXPECT_EQ(account->state, wire::AccountState::kCollected);
  EXPECT_EQ(account->events_written, 9U);
}

TEST_F(CollectTest, ASecondTimeThereIsNothingToDo) {
  collectRings(directory_.path());
  const std::string bytes = test::readAll(container_);
  const CollectReport report = collectRings(directory_.path());
  EXPECT_EQ(report.processes, 0U);
  EXPECT_EQ(report.events, 0U);
  EXPECT_EQ(test::readAll(container_), bytes);
}

TEST_F(CollectTest, CollectorsAtOnceBringEverythingOnce) {
  CollectReport reports[4];
  std::vector<std::thread> threads;
  for (CollectReport& report : reports) {
    threads.emplace_back([&] { report = collectRings(directory_.path()); });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t events = 0;
  for (const CollectReport& report : reports) {
    EXPECT_TRUE(report.troubles.empty());
    events += report.events;
  }
  EXPECT_EQ(events, 5U);
  EXPECT_EQ(wholeness().events, 9U);
  EXPECT_EQ(Trace::open(directory_.path())->processes().front()->damage.size(), 0U);
  EXPECT_TRUE(ringsAreGone());
}

TEST_F(CollectTest, InterruptedBeforeTheRingsWereRemovedItCanBeRunAgain) {
  const std::string ring = test::readAll(rings_ / "omnio-0000000000001234-0");
  collectRings(directory_.path());
  test::writeAll(rings_ / "omnio-0000000000001234-0", ring);
  const CollectReport report = collectRings(directory_.path());
  EXPECT_EQ(report.events, 0U);
  EXPECT_EQ(report.rings, 1U);
  EXPECT_EQ(wholeness().events, 9U);
}

TEST_F(CollectTest, ARunningProcessKeepsItsRings) {
  test::TemporaryDirectory other;
  std::string stat = test::readAll("/proc/self/stat");
  stat = stat.substr(stat.rfind(')') + 2);
  for (int field = 3; field < 22; ++field) stat = stat.substr(stat.find(' ') + 1);
  test::saveRing(rings_ / "omnio-0000000000001234-0", {.token = kToken,
                                                       .pid = static_cast<std::uint32_t>(getpid()),
                                                       .process_start = std::stoull(stat),
                                                       .trace_directory = directory_.path(),
                                                       .open = &third_});
  const CollectReport report = collectRings(directory_.path());
  EXPECT_EQ(report.running, 1U);
  EXPECT_EQ(report.processes, 0U);
  EXPECT_TRUE(fs::exists(rings_ / "omnio-0000000000001234-0"));
  EXPECT_TRUE(fs::exists(rings_ / "omnio-0000000000001234-1"));
}

TEST_F(CollectTest, WhereNothingCanBeWrittenTheRingsStay) {
  // A limit instead of a full device: what it does to write() is the same.
  const std::string before = test::readAll(container_);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{.rlim_cur = before.size(), .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const CollectReport report = collectRings(directory_.path());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  ASSERT_EQ(report.troubles.size(), 1U);
  EXPECT_EQ(report.troubles[0],
            fmt::format("{}: File too large; 9 events of process {} stay in {}",
                        container_.native(), test::kDeadPid, rings_.path().native()));
  EXPECT_EQ(test::readAll(container_), before);
  EXPECT_FALSE(ringsAreGone());
  EXPECT_EQ(wholeness().events, 9U);
}

TEST_F(CollectTest, AProcessThatCouldCreateNoContainerGetsOne) {
  fs::remove(container_);
  ContainerBuilder other(kToken + 1);
  other.facts(test::usualFacts()).ended(0).save(directory_ / "node1.1.0.omnio");
  const CollectReport report = collectRings(directory_.path());
  EXPECT_TRUE(report.troubles.empty()) << report.troubles.front();
  EXPECT_EQ(report.events, 9U);
  EXPECT_TRUE(ringsAreGone());
  EXPECT_EQ(wholeness().events, 9U);
}

TEST_F(CollectTest, WhatTheProcessCountedAsLostAndComesBackIsLostNoMore) {
  // It ended by itself on a full device and left its account in the ring.
  test::saveRing(rings_ / "omnio-0000000000001234-0",
                 {.token = kToken,
                  .pid = test::kDeadPid,
                  .trace_directory = directory_.path(),
                  .note = wire::Account{.state = wire::AccountState::kEnded,
                                        .error = ENOSPC,
                                        .events_written = 4,
                                        .events_lost = 7},
                  .open = &second_});
  EXPECT_EQ(wholeness().events_missing, 5U);
  collectRings(directory_.path());
  const Result<Trace> trace = Trace::open(directory_.path());
  const auto& account = trace->processes().front()->account;
  EXPECT_EQ(account->state, wire::AccountState::kEnded);
  EXPECT_EQ(account->events_written, 6U);
  EXPECT_EQ(account->events_lost, 5U);
  EXPECT_EQ(wholeness().events_missing, 5U);
}

}  // namespace
}  // namespace omnio
