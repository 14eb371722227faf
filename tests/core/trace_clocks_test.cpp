// Clocks of several nodes: lines through points, chains of them, damaged points, and nodes of whose
// clocks nothing is known.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/tracefile/host_clocks.hpp"
#include "core/wire/info.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio {
namespace {

using test::kSecond;

TEST(ClockCorrection, IsALineThroughItsPoints) {
  // 3 s ahead and 100 ppm fast.
  const tracefile::ClockCorrection clock(
      {{.own_ns = 13 * kSecond + 1'000'000, .reference_ns = 20 * kSecond, .error_ns = 20'000},
       {.own_ns = 3 * kSecond, .reference_ns = 10 * kSecond, .error_ns = 30'000}});
  EXPECT_EQ(clock.referenceNs(3 * kSecond), 10 * kSecond);
  EXPECT_EQ(clock.referenceNs(8 * kSecond + 500'000), 15 * kSecond);
  EXPECT_EQ(clock.referenceNs(13 * kSecond + 1'000'000), 20 * kSecond);
  EXPECT_EQ(clock.referenceNs(23 * kSecond + 2'000'000), 30 * kSecond);
  EXPECT_EQ(clock.referenceNs(2 * kSecond - 100'000), 9 * kSecond);
  EXPECT_EQ(clock.offsetNs(), -7 * kSecond);
  EXPECT_EQ(clock.errorNs(), 30'000);
  ASSERT_TRUE(clock.drift());
  EXPECT_NEAR(clock.drift()->ppm, 100, 1e-6);
  EXPECT_NEAR(clock.drift()->error_ppm, 5, 0.01);
}

TEST(ClockCorrection, KeepsNanosecondsOverAYear) {
  const std::int64_t year = 365 * 86400 * kSecond;
  const tracefile::ClockCorrection clock(
      {{.own_ns = 1, .reference_ns = 5}, {.own_ns = year + 1, .reference_ns = year + 5}});
  EXPECT_EQ(clock.referenceNs(year / 2 + 7), year / 2 + 11);
}

TEST(ClockCorrection, OfOnePointIsAnOffset) {
  const tracefile::ClockCorrection clock(
      {{.own_ns = 3 * kSecond, .reference_ns = 10 * kSecond, .error_ns = 7}});
  EXPECT_EQ(clock.referenceNs(kSecond), 8 * kSecond);
  EXPECT_EQ(clock.referenceNs(100 * kSecond), 107 * kSecond);
  EXPECT_FALSE(clock.drift());
  EXPECT_EQ(clock.errorNs(), 7);
}

TEST(ClockCorrection, DoesNotBelieveADriftThatItsErrorsMayBe) {
  // 40 us in 0.1 s would be 400 ppm; each may be wrong by 30.
  const tracefile::ClockCorrection clock(
      {{.own_ns = kSecond, .reference_ns = kSecond, .error_ns = 30'000},
       {.own_ns = kSecond + 100'000'000,
        .reference_ns = kSecond + 100'040'000,
        .error_ns = 30'000}});
  EXPECT_EQ(clock.referenceNs(kSecond + 50'000'000), kSecond + 50'020'000);
  EXPECT_EQ(clock.referenceNs(1001 * kSecond), 1001 * kSecond + 40'000);
  EXPECT_EQ(clock.referenceNs(0), 0);
}

TEST(ClockCorrection, LeavesOutWhatRunsBackwards) {
  const tracefile::ClockCorrection clock(
      {{.own_ns = kSecond, .reference_ns = 50 * kSecond, .error_ns = 10},
       {.own_ns = 2 * kSecond, .reference_ns = 40 * kSecond, .error_ns = 20},
       {.own_ns = 3 * kSecond, .reference_ns = 51 * kSecond, .error_ns = 20},
       {.own_ns = 4 * kSecond, .reference_ns = 53 * kSecond, .error_ns = -20}});
  ASSERT_EQ(clock.points().size(), 2U);
  EXPECT_EQ(clock.referenceNs(3 * kSecond), 51 * kSecond);
}

// A clock that stood still for a second, as after a suspension, and one that was set forward.
TEST(ClockCorrection, JumpsWhereItsPointsDo) {
  const tracefile::ClockCorrection clock({{.own_ns = kSecond, .reference_ns = kSecond},
                                          {.own_ns = 3 * kSecond, .reference_ns = 3 * kSecond},
                                          {.own_ns = 3 * kSecond + 1, .reference_ns = 4 * kSecond},
                                          {.own_ns = 6 * kSecond, .reference_ns = 7 * kSecond},
                                          {.own_ns = 8 * kSecond, .reference_ns = 7 * kSecond}});
  EXPECT_EQ(clock.referenceNs(2 * kSecond), 2 * kSecond);
  EXPECT_NEAR(clock.referenceNs(5 * kSecond), 6 * kSecond, 1);
  EXPECT_EQ(clock.referenceNs(7 * kSecond), 7 * kSecond);
  EXPECT_EQ(clock.inverse().referenceNs(2 * kSecond), 2 * kSecond);
}

TEST(ClockCorrection, FollowsAnotherWithBothErrors) {
  const tracefile::ClockCorrection first({{.own_ns = 0, .reference_ns = 100, .error_ns = 10},
                                          {.own_ns = 1000, .reference_ns = 1100, .error_ns = 20}});
  const tracefile::ClockCorrection second({{.own_ns = 100, .reference_ns = 200, .error_ns = 1},
                                           {.own_ns = 600, .reference_ns = 700, .error_ns = 3},
                                           {.own_ns = 1100, .reference_ns = 1700, .error_ns = 5}});
  const tracefile::ClockCorrection both = first.then(second);
  EXPECT_EQ(both.referenceNs(0), 200);
  EXPECT_EQ(both.referenceNs(250), 450);
  EXPECT_EQ(both.referenceNs(500), 700);
  EXPECT_EQ(both.referenceNs(1000), 1700);
  EXPECT_EQ(both.errorNs(), 25);
  EXPECT_EQ(both.errorNsAt(500), 18);
}

TEST(NodeClock, BendsWhereTheCorrectionDoes) {
  tracefile::NodeClock clock;
  clock.add(1000, kSecond);
  clock.add(1000 + 10 * kSecond, 11 * kSecond);
  // Even until 6 s, then 1000 ppm slower.
  clock.finish(tracefile::ClockCorrection(
      {{.own_ns = kSecond, .reference_ns = kSecond},
       {.own_ns = 6 * kSecond, .reference_ns = 6 * kSecond},
       {.own_ns = 11 * kSecond, .reference_ns = 11 * kSecond + 5'000'000}}));
  const auto ns = [&clock](std::uint64_t ticks) { return clock.segmentOf(ticks).ns(ticks); };
  // (Truncated to whole nanoseconds.)
  EXPECT_NEAR(ns(1000 + 2 * kSecond), 3 * kSecond, 1);
  EXPECT_NEAR(ns(1000 + 5 * kSecond), 6 * kSecond, 1);
  EXPECT_NEAR(ns(1000 + 6 * kSecond), 7 * kSecond + 1'000'000, 1);
  EXPECT_NEAR(ns(1000 + 10 * kSecond), 11 * kSecond + 5'000'000, 1);
}

// A process that was killed has one anchor.
TEST(NodeClock, BendsAfterItsLastAnchor) {
  tracefile::NodeClock clock;
  clock.add(20 * kSecond, 20 * kSecond);
  clock.finish(tracefile::ClockCorrection(
      {{.own_ns = 10 * kSecond, .reference_ns = 10 * kSecond},
       {.own_ns = 30 * kSecond, .reference_ns = 30 * kSecond},
       {.own_ns = 40 * kSecond, .reference_ns = 40 * kSecond + 5'000'000}}));
  const auto ns = [&clock](std::uint64_t ticks) { return clock.segmentOf(ticks).ns(ticks); };
  EXPECT_NEAR(ns(15 * kSecond), 15 * kSecond, 1);
  EXPECT_NEAR(ns(30 * kSecond), 30 * kSecond, 1);
  EXPECT_NEAR(ns(35 * kSecond), 35 * kSecond + 2'500'000, 1);
}

TEST(ClockCorrection, LeavesOutWhatIsTooFarAway) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const tracefile::ClockCorrection clock({{.own_ns = kMost, .reference_ns = 1},
                                          {.own_ns = kLeast, .reference_ns = 1},
                                          {.own_ns = 1, .reference_ns = kMost},
                                          {.own_ns = 1, .reference_ns = kLeast},
                                          {.own_ns = 1, .reference_ns = 1, .error_ns = kMost}});
  EXPECT_TRUE(clock.points().empty());
  EXPECT_EQ(clock.referenceNs(kSecond), kSecond);
  const tracefile::ClockCorrection line(
      {{.own_ns = 0, .reference_ns = -kMost / 4}, {.own_ns = kMost / 4, .reference_ns = 0}});
  line.referenceNs(kMost);
  line.referenceNs(kLeast);
}

constexpr const char* kThisBoot = "this boot";

// Processes as a trace has them, whose clocks count nanoseconds.
class TraceClocksTest : public testing::Test {
 protected:
  using Facts = std::map<std::string, std::string>;

  void add(int rank, const std::string& host, std::int64_t monotonic_ns, std::int64_t realtime_ns,
           const Facts& more = {}) {
    auto process = std::make_unique<tracefile::Process>();
    process->token = static_cast<std::uint64_t>(100 + rank);
    process->begin = {.ticks = static_cast<std::uint64_t>(monotonic_ns),
                      .monotonic_ns = static_cast<std::uint64_t>(monotonic_ns),
                      .realtime_ns = static_cast<std::uint64_t>(realtime_ns)};
    Facts facts = test::usualFacts(rank, 8);
    facts[wire::info::kHost] = host;
    facts[wire::info::kBoot] = "boot of " + host;
    process->info.take(test::factsPayload(facts));
    process->info.take(test::factsPayload(more));
    processes_.push_back(std::move(process));
  }
  // A process whose facts were lost.
  void addWithoutFacts(const std::string& container) {
    auto process = std::make_unique<tracefile::Process>();
    process->token = 900 + processes_.size();
    process->container = container;
    process->clock_kind = processes_.front()->clock_kind;
    processes_.push_back(std::move(process));
  }
  // The time in the trace when the clock of this process's node shows `monotonic_ns`.
  std::int64_t at(std::size_t process, std::int64_t monotonic_ns) const {
    const auto ticks = static_cast<std::uint64_t>(monotonic_ns);
    return processes_[process]->clock->segmentOf(ticks).ns(ticks);
  }

  std::vector<std::unique_ptr<tracefile::Process>> processes_;
};

TEST_F(TraceClocksTest, WhatIsKnownOfAClockCorrectsIt) {
  add(0, "a", 10 * kSecond, 1000 * kSecond);
  add(1, "b", 510 * kSecond, 990 * kSecond);
  const tracefile::KnownClock known = {
      .correction = tracefile::ClockCorrection(
          {{.own_ns = 511 * kSecond, .reference_ns = 11 * kSecond, .error_ns = 20'000},
           {.own_ns = 611 * kSecond + 5'000'000,
            .reference_ns = 111 * kSecond,
            .error_ns = 15'000}}),
      .moved_receives = 2,
      .moved_most_ns = 4'500,
      .early_receives = 1};
  const std::vector<tracefile::HostClock> clocks =
      tracefile::assignClocks(processes_, kThisBoot, {std::nullopt, known});
  EXPECT_EQ(at(0, 10 * kSecond), 10 * kSecond);
  EXPECT_NEAR(at(1, 511 * kSecond), 11 * kSecond, 1);
  ASSERT_EQ(clocks.size(), 2U);
  EXPECT_EQ(clocks[0].method, tracefile::ClockMethod::kReference);
  EXPECT_EQ(clocks[1].method, tracefile::ClockMethod::kMessages);
  EXPECT_EQ(clocks[1].offset_ns, 500 * kSecond);
  EXPECT_EQ(clocks[1].error_ns, 20'000);
  EXPECT_NEAR(clocks[1].drift->ppm, 50, 1e-6);
  EXPECT_EQ(clocks[1].ranks, std::set<int>{1});
  EXPECT_EQ(
      tracefile::clockSentences(clocks),
      std::vector<std::string>{
          "host b: 500.000000 s ahead of that of host a, 50.000 ppm fast (by up to 0.350 more "
          "or less), wrong by at most 20.0 us, 2 receives moved forward to the begin of their "
          "sends, by at most 4.5 us, 1 still before the send (messages)"});
}

TEST_F(TraceClocksTest, WithoutMessagesTheTimeOfDayHasToDo) {
  add(0, "a", 10 * kSecond, 1000 * kSecond);
  add(1, "b", 510 * kSecond, 1002 * kSecond);
  const std::vector<tracefile::HostClock> clocks = tracefile::assignClocks(processes_, kThisBoot);
  EXPECT_EQ(at(1, 511 * kSecond), 13 * kSecond);
  EXPECT_EQ(clocks[1].method, tracefile::ClockMethod::kRealtime);
  EXPECT_FALSE(clocks[1].error_ns);
  EXPECT_EQ(tracefile::clockSentences(clocks),
            std::vector<std::string>{
                "host b: 498.000000 s ahead of that of host a, drift not known, error not "
                "bounded: as well as the site's time service keeps the time of day (realtime)"});
}

TEST_F(TraceClocksTest, RankZeroIsTheReferenceThoughAnotherBeganFirst) {
  add(0, "a", 10 * kSecond, 1000 * kSecond);
  add(1, "b", 510 * kSecond, 1 * kSecond);
  tracefile::assignClocks(processes_, kThisBoot);
  EXPECT_EQ(at(0, 10 * kSecond), 10 * kSecond);
}

TEST_F(TraceClocksTest, TimeNamespacesOfOneBootHaveAClockEach) {
  add(0, "a", 10 * kSecond, 1000 * kSecond, {{"time_namespace", "time:[1]"}});
  add(1, "a", 1012 * kSecond, 1002 * kSecond, {{"time_namespace", "time:[2]"}});
  add(2, "a", 13 * kSecond, 1003 * kSecond, {{"time_namespace", "time:[1]"}});
  const std::vector<tracefile::HostClock> clocks = tracefile::assignClocks(processes_, kThisBoot);
  EXPECT_EQ(at(1, 1012 * kSecond), 12 * kSecond);
  EXPECT_EQ(at(2, 13 * kSecond), 13 * kSecond);
  ASSERT_EQ(clocks.size(), 2U);
  EXPECT_EQ(clocks[0].clock, 0U);
  EXPECT_EQ(clocks[1].clock, 1U);
  EXPECT_EQ(clocks[0].ranks, (std::set<int>{0, 2}));
  EXPECT_EQ(clocks[0].processes, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(clocks[1].ranks, std::set<int>{1});
}

TEST_F(TraceClocksTest, AProcessOfWhichOnlyRingsAreLeftRanOnThisNode) {
  add(0, "this", 10 * kSecond, 1000 * kSecond, {{"boot", kThisBoot}});
  addWithoutFacts("");
  processes_.back()->rings.emplace_back();
  const std::vector<tracefile::HostClock> clocks = tracefile::assignClocks(processes_, kThisBoot);
  ASSERT_EQ(clocks.size(), 1U);
  EXPECT_EQ(clocks[0].host, "this");
  EXPECT_EQ(clocks[0].processes, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(tracefile::clockSentences(clocks), std::vector<std::string>{});
  EXPECT_EQ(processes_[1]->clock, processes_[0]->clock);
}

TEST_F(TraceClocksTest, AProcessWithoutFactsRanWhereItsContainerSays) {
  add(0, "node.a", 10 * kSecond, 1000 * kSecond);
  add(1, "node.b", 510 * kSecond, 1000 * kSecond);
  addWithoutFacts("/trace/node.b.4711.0.omnio");
  addWithoutFacts("/trace/node.c.4711.0.omnio");
  addWithoutFacts("/trace/renamed.omnio");
  const std::vector<tracefile::HostClock> clocks = tracefile::assignClocks(processes_, kThisBoot);
  ASSERT_EQ(clocks.size(), 4U);
  EXPECT_EQ(clocks[1].processes, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(at(2, 511 * kSecond), 11 * kSecond);
  EXPECT_EQ(clocks[2].host, "node.c");
  EXPECT_EQ(clocks[2].method, tracefile::ClockMethod::kRealtime);
  EXPECT_EQ(clocks[3].host, "");
}

}  // namespace
}  // namespace omnio
