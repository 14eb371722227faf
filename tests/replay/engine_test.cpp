// Threads of a schedule as the engine replays them, without MPI around it.
#include "replay/run/engine.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "replay/plan/compile.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"
#include "tests/replay/schedule_calls.hpp"

namespace omnio::replay {
namespace {

using model::Descriptor;
using model::FileNumber;
using model::ScheduleEvent;
using test::call;

ScheduleEvent opened(std::int64_t start_ns, std::int64_t flags, std::uint32_t file = 0) {
  ScheduleEvent event = call("open", start_ns);
  event.file = FileNumber{file};
  event.arguments[1] = flags;
  event.new_fd = Descriptor{0};
  return event;
}

ScheduleEvent written(std::int64_t start_ns, std::int64_t bytes) {
  ScheduleEvent event = call("write", start_ns);
  event.fd = Descriptor{0};
  event.request = static_cast<std::uint64_t>(bytes);
  event.result = bytes;
  event.arguments[2] = bytes;
  return event;
}

ScheduleEvent closed(std::int64_t start_ns) {
  ScheduleEvent event = call("close", start_ns);
  event.fd = Descriptor{0};
  return event;
}

// Compiles the threads, one of each rank, and replays them in a tree of its own.
class EngineTest : public ::testing::Test {
 protected:
  using Threads = std::vector<std::vector<ScheduleEvent>>;

  void compile(const Threads& threads) {
    std::filesystem::create_directory(tree);
    std::filesystem::create_directory(programs);
    Compiler compiler(programs);
    model::ScheduleGlobal global;
    global.ranks = static_cast<int>(threads.size());
    global.timing = timing;
    ASSERT_FALSE(compiler.global(global));
    for (const char* location : {"a", "b"}) {
      model::ScheduleFile file;
      file.location = location;
      ASSERT_FALSE(compiler.file(FileNumber{location[0] == 'a' ? 0U : 1U}, file));
    }
    for (std::size_t rank = 0; rank < threads.size(); ++rank) {
      model::ScheduleThread thread;
      thread.rank = static_cast<int>(rank);
      ASSERT_FALSE(compiler.beginThread(thread));
      for (const ScheduleEvent& event : threads[rank]) ASSERT_FALSE(compiler.event(event));
      ASSERT_FALSE(compiler.endThread());
    }
    const auto complaint = compiler.finish();
    ASSERT_FALSE(complaint) << *complaint;
    plan = compiler.plan();
    const std::size_t number = plan.flag_waiters.flags();
    constexpr bool kHasOnTime = true;
    words = std::vector<std::atomic<std::int64_t>>(Flags::words(number, 0, kHasOnTime));
    flags = std::make_unique<Flags>(words, number, kHasOnTime);
    base::Result<Trees> opened = Trees::open({tree});
    ASSERT_TRUE(opened);
    trees.emplace(std::move(*opened));
    paths = std::make_unique<Paths>(plan, *trees);
    fence = std::make_unique<Fence>(std::vector<std::filesystem::path>{tree});
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t rank = 0; rank < threads.size(); ++rank) ranks.push_back(rank);
    findSymbols();
    engine = std::make_unique<Engine>(Engine::Settings{.plan = plan,
                                                       .paths = *paths,
                                                       .programs = programs,
                                                       .fence = *fence,
                                                       .flags = *flags,
                                                       .may_spin = false,
                                                       .is_traced = false,
                                                       .announce = {},
                                                       .await = {}},
                                      ranks);
  }
  // `late_ns`: after the beginning of the replay, its threads are let go.
  void replay(const Threads& threads, std::int64_t late_ns = 0) {
    compile(threads);
    if (HasFatalFailure()) return;
    const auto started = engine->start();
    ASSERT_TRUE(started) << started.failure().sentence;
    engine->go(nowNs() - late_ns);
    engine->finish();
    EXPECT_TRUE(engine->isDone());
    EXPECT_FALSE(engine->failure());
  }

  model::Timing timing = model::Timing::kAsap;
  const test::TemporaryDirectory directory;
  const std::filesystem::path tree = directory / "tree";
  const std::filesystem::path programs = directory / "programs";
  Plan plan;
  std::vector<std::atomic<std::int64_t>> words;
  std::unique_ptr<Flags> flags;
  std::optional<Trees> trees;
  std::unique_ptr<Paths> paths;
  std::unique_ptr<Fence> fence;
  std::unique_ptr<Engine> engine;
};

TEST_F(EngineTest, EachRankDoesItsOperationsAndCountsThem) {
  replay({{opened(0, O_WRONLY | O_CREAT), written(20, 100), written(40, 1000), closed(60)},
          {opened(0, O_WRONLY | O_CREAT, 1), written(20, 7)}});
  EXPECT_EQ(std::filesystem::file_size(tree / "a"), 1100U);
  EXPECT_EQ(std::filesystem::file_size(tree / "b"), 7U);
  ASSERT_EQ(engine->counts().size(), 2U);
  const RankCounts& first = engine->counts()[0];
  EXPECT_EQ(first.operations, 4U);
  EXPECT_EQ(first.bytes_written, 1100U);
  EXPECT_EQ(first.bytes_read, 0U);
  EXPECT_EQ(first.differences, 0U);
  EXPECT_GT(first.end_ns, 0);
  EXPECT_EQ(engine->counts()[1].operations, 2U);
  EXPECT_EQ(engine->counts()[1].bytes_written, 7U);
  EXPECT_TRUE(engine->differences().empty());
  EXPECT_EQ(engine->places().size(), 2U);
}

TEST_F(EngineTest, WhatComesOutOtherwiseIsKeptWithItsPlace) {
  ScheduleEvent failed = opened(0, O_WRONLY | O_CREAT);
  failed.failed = true;
  failed.result = ENOSPC;
  failed.new_fd = model::kNoDescriptor;
  replay({{failed, opened(20, O_RDONLY)}});
  EXPECT_EQ(engine->counts()[0].differences, 1U);
  ASSERT_EQ(engine->differences().size(), 1U);
  const Difference& difference = engine->differences()[0];
  EXPECT_EQ(difference.rank, 0U);
  EXPECT_EQ(difference.event, 1U);
  EXPECT_EQ(difference.call, "open");
  EXPECT_EQ(difference.location, "a");
  EXPECT_EQ(difference.expected, "ENOSPC");
  EXPECT_EQ(difference.got, "success");
}

// The reader comes first in the plan, and would fail if it did not wait.
TEST_F(EngineTest, ARankWaitsForWhatItsOperationComesAfter) {
  ScheduleEvent reader = opened(100, O_RDONLY);
  reader.after = {{5}};
  ScheduleEvent maker = opened(0, O_WRONLY | O_CREAT);
  ScheduleEvent end = closed(20);
  end.id = 5;
  replay({{reader}, {maker, written(10, 50), end}});
  EXPECT_EQ(engine->counts()[0].differences, 0U);
  EXPECT_EQ(engine->counts()[1].differences, 0U);
  EXPECT_TRUE(flags->isRaised(0));
}

// One call follows the delay in its thread, another one waits for it in another thread.
TEST_F(EngineTest, CallsBehindADelayBeginWhenItIsOver) {
  constexpr std::int64_t kDelayNs = 30'000'000;
  for (const model::Timing each :
       {model::Timing::kAsap, model::Timing::kDelta, model::Timing::kStart}) {
    timing = each;
    std::filesystem::remove_all(tree);
    std::filesystem::create_directory(tree);
    ScheduleEvent delay;
    delay.step = model::Step::kDelay;
    delay.end_ns = kDelayNs;
    delay.id = 5;
    ScheduleEvent other = opened(10, O_WRONLY | O_CREAT, 1);
    other.after = {{5}};
    replay({{delay, opened(0, O_WRONLY | O_CREAT)}, {other}});
    for (const RankCounts& counts : engine->counts()) {
      EXPECT_EQ(counts.operations, 1U);
      EXPECT_GE(counts.begin_ns, kDelayNs) << static_cast<int>(each);
    }
  }
}

// The end on time is the one that a replay without lateness would have had, whose calls take as
// long: there, nothing but calls and recorded think time is before an end.
TEST_F(EngineTest, LatenessIsToldFromTheTimeOfCallsAndOfThinking) {
  constexpr std::int64_t kLateNs = 3'000'000'000;
  constexpr std::int64_t kThinkNs = 1'000'000;
  for (const model::Timing each : {model::Timing::kDelta, model::Timing::kStart}) {
    timing = each;
    std::filesystem::remove_all(tree);
    replay({{opened(0, O_WRONLY | O_CREAT), written(kThinkNs, 100), closed(2 * kThinkNs)}},
           kLateNs);
    const RankCounts& counts = engine->counts()[0];
    EXPECT_GE(counts.end_ns, kLateNs) << static_cast<int>(each);
    EXPECT_GE(counts.on_time_end_ns, 2 * kThinkNs) << static_cast<int>(each);
    EXPECT_LE(counts.on_time_end_ns, 2 * kThinkNs + counts.io_ns) << static_cast<int>(each);
  }
}

TEST_F(EngineTest, WhoWaitsForALateOneIsAsLate) {
  constexpr std::int64_t kLateNs = 3'000'000'000;
  timing = model::Timing::kDelta;
  ScheduleEvent maker = opened(0, O_WRONLY | O_CREAT);
  maker.id = 5;
  ScheduleEvent reader = opened(100, O_RDONLY);
  reader.after = {{5}};
  replay({{reader}, {maker}}, kLateNs);
  const RankCounts& after = engine->counts()[0];
  EXPECT_GE(after.end_ns, kLateNs);
  EXPECT_LE(after.on_time_end_ns, 100 + after.io_ns + engine->counts()[1].io_ns);
}

TEST_F(EngineTest, DelaysOfManyYearsDoNotOverflow) {
  ScheduleEvent delay;
  delay.step = model::Step::kDelay;
  delay.end_ns = std::int64_t{315'000'000} * 1'000'000'000;
  replay({std::vector<ScheduleEvent>(40, delay)});
  EXPECT_EQ(engine->counts()[0].operations, 0U);
}

TEST_F(EngineTest, ADescriptorFromBeforeTheBeginningHasToBeThere) {
  ScheduleEvent preopened;
  preopened.step = model::Step::kPreopened;
  preopened.file = FileNumber{0};
  preopened.new_fd = Descriptor{0};
  compile({{preopened, closed(0)}});
  const auto started = engine->start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.failure().sentence,
            "cannot open a, which was open from the start: No such file or directory");
}

TEST_F(EngineTest, AProgramThatIsNotThereIsNamed) {
  compile({{opened(0, O_WRONLY | O_CREAT)}});
  const std::filesystem::path program = programName(programs, 0);
  std::filesystem::remove(program);
  const auto started = engine->start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.failure().sentence, program.native() + ": No such file or directory");
}

}  // namespace
}  // namespace omnio::replay
