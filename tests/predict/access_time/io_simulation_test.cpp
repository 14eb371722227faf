#include "predict/access_time/io_simulation.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/core/temporary_directory.hpp"
#include "tests/predict/access_time/schedule_text.hpp"

namespace omnio::access_time {
namespace {

using test::Events;
using test::scheduleOf;

constexpr int kBytes = 8192;  // whole pages

// A write alone takes 0.1 s. Nothing else takes any time.
double unshared(const Access& access) {
  return access.operation == CellOperation::kWrite ? 0.1 * access.bytes / kBytes : 0;
}
// A storage that n processes share: writes of n at once take n times as long.
double shared(const Access& access) { return unshared(access) * access.processes; }

class IoSimulationTest : public ::testing::Test {
 protected:
  Program read(const std::string& document, double most_steps = kMostSteps) {
    omnio::test::writeAll(directory_ / "s.json", document);
    auto program = readProgram(directory_ / "s.json", most_steps);
    EXPECT_TRUE(program) << program.failure().sentence;
    return std::move(*program);
  }
  static std::string writer(int count, const char* file = "a") {
    Events events;
    events.open(file, 0);
    for (int i = 0; i < count; ++i) events.write(0, i * kBytes, kBytes);
    return events.text();
  }

  omnio::test::TemporaryDirectory directory_;
};

TEST_F(IoSimulationTest, AddsTheAccessesOfARankAndNotItsWork) {
  const IoProfile profile = simulate(read(scheduleOf({writer(5)})), shared);
  EXPECT_NEAR(profile.slowest().total(), 0.5, 1e-9);
  EXPECT_NEAR(profile.makespan_s, 0.5 + 6e-3, 1e-6);  // 1 ms before each call
}

TEST_F(IoSimulationTest, SharesTheStorageAmongRanksThatUseItAtOnce) {
  const IoProfile profile = simulate(read(scheduleOf({writer(5), writer(5)})), shared);
  for (const RankTime& rank : profile.ranks) {
    // All of the time but that of the first and the last bit of work.
    EXPECT_NEAR(rank.total(), 1.0, 0.02);
  }
  EXPECT_NEAR(simulate(read(scheduleOf({writer(5), writer(5)})), unshared).slowest().total(), 0.5,
              1e-9);
}

TEST_F(IoSimulationTest, LeavesTheStorageToOneOfRanksThatTakeTurns) {
  Events first, second;
  first.open("a", 0).id(1).write(0, 0, kBytes).text();
  second.open("a", 0)
      .after(R"({"id":1,"why":"mpi","compute":1000})")
      .write(0, kBytes, kBytes)
      .text();
  const Program program = read(scheduleOf({first.text(), second.text()}));
  const IoProfile profile = simulate(program, shared);
  EXPECT_NEAR(profile.ranks[0].total(), 0.1, 1e-9);
  EXPECT_NEAR(profile.ranks[1].total(), 0.1, 1e-9);
  EXPECT_GT(profile.makespan_s, 0.2);
}

TEST_F(IoSimulationTest, GivesTheRankThatHasMost) {
  const IoProfile profile = simulate(read(scheduleOf({writer(2), writer(7), writer(1)})), unshared);
  EXPECT_EQ(profile.slowest_rank, 1U);
  EXPECT_NEAR(profile.slowest().data_s, 0.7, 1e-9);
}

TEST_F(IoSimulationTest, GoesOnWhereEventsWaitForEachOther) {
  Events first, second;
  first.open("a", 0).id(1).after("2").write(0, 0, kBytes);
  second.open("a", 0).id(2).after("1").write(0, kBytes, kBytes);
  const IoProfile profile = simulate(read(scheduleOf({first.text(), second.text()})), shared);
  EXPECT_EQ(profile.given_up_waits, 1U);
  EXPECT_NEAR(profile.ranks[0].total(), 0.1, 1e-9);
  EXPECT_NEAR(profile.ranks[1].total(), 0.1, 1e-9);
}

TEST_F(IoSimulationTest, TakesTheUnionOfTheThreadsOfARank) {
  Program program;
  program.rank_count = 1;
  program.accesses = {{.operation = CellOperation::kWrite, .bytes = 100},
                      {.operation = CellOperation::kFsync, .bytes = 100}};
  const auto thread = [](std::uint32_t access) {
    return ProgramThread{.rank = 0, .steps = {{.access = access}}};
  };
  program.threads = {thread(0), thread(1)};
  const IoProfile profile =
      simulate(program, [](const Access& access) { return access.movesData() ? 1.0 : 3.0; });
  EXPECT_NEAR(profile.slowest().total(), 3, 1e-9);
  EXPECT_NEAR(profile.slowest().data_s, 0.75, 1e-9);  // by their parts
  EXPECT_NEAR(profile.slowest().sync_s, 2.25, 1e-9);
}

// A program that is counted has about the time of one that is gone through.
TEST_F(IoSimulationTest, BalancesRanksAsTheyWouldMeet) {
  const std::string ranks = scheduleOf({writer(50), writer(50), writer(50), writer(50)});
  const double through = simulate(read(ranks), shared).slowest().total();
  const double counted = balance(read(ranks, 10), shared).slowest().total();
  EXPECT_NEAR(through, 20, 0.5);
  EXPECT_NEAR(counted / through, 1, 0.05);
}

// The longest one is alone in the end.
TEST_F(IoSimulationTest, BalancesRanksThatEndAtDifferentTimes) {
  const std::string ranks = scheduleOf({writer(200), writer(20), writer(30), writer(40)});
  const IoProfile through = simulate(read(ranks), shared);
  const IoProfile counted = balance(read(ranks, 10), shared);
  EXPECT_NEAR(through.slowest().total(), 29, 0.5);
  for (std::size_t i = 0; i < through.ranks.size(); ++i) {
    EXPECT_NEAR(counted.ranks[i].total() / through.ranks[i].total(), 1, 0.05) << i;
  }
}

TEST_F(IoSimulationTest, TellsHowManyAccessesThereWereAtOnce) {
  const IoProfile profile = simulate(read(scheduleOf({writer(5), writer(5, "d/b")})), shared);
  for (const AccessUse& use : profile.uses) {
    if (use.access.operation != CellOperation::kWrite) continue;
    EXPECT_EQ(use.count, 10);
    EXPECT_NEAR(use.access.processes, 2, 0.1);
  }
}

}  // namespace
}  // namespace omnio::access_time
