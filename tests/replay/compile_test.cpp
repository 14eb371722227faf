#include "replay/plan/compile.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "replay/plan/program.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/replay/schedule_calls.hpp"

namespace omnio::replay {
namespace {

using model::Descriptor;
using model::FileNumber;
using model::ScheduleEvent;
using test::call;
using test::rowOf;

ScheduleEvent openedAs(std::int64_t start_ns, std::int64_t fd, std::uint32_t file = 0) {
  ScheduleEvent event = call("open", start_ns);
  event.file = FileNumber{file};
  event.new_fd = Descriptor{fd};
  return event;
}

ScheduleEvent writtenTo(std::int64_t start_ns, std::int64_t fd, std::int64_t bytes) {
  ScheduleEvent event = call("write", start_ns);
  event.fd = Descriptor{fd};
  event.request = static_cast<std::uint64_t>(bytes);
  event.result = bytes;
  event.arguments[2] = bytes;
  return event;
}

// A schedule of one file: threads are lists of events, one rank each.
class Compile : public ::testing::Test {
 protected:
  model::ScheduleSink::Complaint feed(const std::vector<std::vector<ScheduleEvent>>& threads) {
    return feed(compiler, threads);
  }
  model::ScheduleSink::Complaint feed(Compiler& compiler,
                                      const std::vector<std::vector<ScheduleEvent>>& threads) {
    model::ScheduleGlobal global;
    global.ranks = static_cast<int>(threads.size());
    if (auto complaint = compiler.global(global)) return complaint;
    model::ScheduleFile file;
    file.location = "file";
    file.lines = lines;
    if (auto complaint = compiler.file(FileNumber{0}, file)) return complaint;
    for (std::size_t rank = 0; rank < threads.size(); ++rank) {
      model::ScheduleThread thread;
      thread.rank = static_cast<int>(rank);
      if (auto complaint = compiler.beginThread(thread)) return complaint;
      for (const ScheduleEvent& event : threads[rank]) {
        if (auto complaint = compiler.event(event)) return complaint;
      }
      if (auto complaint = compiler.endThread()) return complaint;
    }
    return compiler.finish();
  }

  bool lines = false;
  test::TemporaryDirectory directory;
  Compiler compiler{directory.path()};
};

TEST_F(Compile, OperationsKeepTheirOrderAndGetTheirFile) {
  ASSERT_FALSE(feed({{openedAs(0, 0), writtenTo(20, 0, 100), writtenTo(40, 0, 5000)}}));
  ProgramReader reader;
  ASSERT_TRUE(reader.open(programName(directory.path(), 0)));
  const Instruction* instruction = reader.next();
  ASSERT_NE(instruction, nullptr);
  EXPECT_EQ(instruction->op.row, rowOf("open")->number);
  EXPECT_EQ(instruction->op.new_fd, 0U);
  instruction = reader.next();
  ASSERT_NE(instruction, nullptr);
  EXPECT_EQ(instruction->op.fd, 0U);
  EXPECT_EQ(instruction->op.file, 0U);  // that of its descriptor
  EXPECT_EQ(instruction->arguments[2], 100);
  EXPECT_NE(reader.next(), nullptr);
  EXPECT_EQ(reader.next(), nullptr);
  EXPECT_EQ(compiler.plan().threads[0].operations, 3U);
  EXPECT_EQ(compiler.plan().threads[0].write_request, 5000U);
  EXPECT_EQ(compiler.plan().ranks[0].slots, 1U);
}

TEST_F(Compile, ADescriptorOfAFileOfLinesIsInherited) {
  lines = true;
  ScheduleEvent inherited;
  inherited.step = model::Step::kInherited;
  inherited.fd = Descriptor{0};
  inherited.new_fd = Descriptor{1};
  ASSERT_FALSE(feed({{openedAs(0, 0), inherited, writtenTo(20, 1, 100)}}));
  ProgramReader reader;
  ASSERT_TRUE(reader.open(programName(directory.path(), 0)));
  ASSERT_NE(reader.next(), nullptr);
  const Instruction* instruction = reader.next();
  ASSERT_NE(instruction, nullptr);
  EXPECT_EQ(instruction->op.flags & kOpLines, 0);
  instruction = reader.next();
  ASSERT_NE(instruction, nullptr);
  EXPECT_NE(instruction->op.flags & kOpLines, 0);
}

TEST_F(Compile, AnEdgeBetweenRanksBecomesAFlag) {
  ScheduleEvent first = openedAs(0, 0);
  first.id = 42;
  ScheduleEvent second = openedAs(100, 0);
  second.after = {{42}};
  ASSERT_FALSE(feed({{first}, {second}}));
  const Plan& plan = compiler.plan();
  ASSERT_EQ(plan.flag_waiters.flags(), 1U);
  const auto waiters = plan.flag_waiters.of(0);
  EXPECT_EQ(std::vector(waiters.begin(), waiters.end()), std::vector<std::uint32_t>{1});
  EXPECT_EQ(plan.threads[0].raises, std::vector<std::uint32_t>{0});
  ASSERT_EQ(plan.threads[1].waits.size(), 1U);
  EXPECT_EQ(plan.threads[1].waits[0].flags, std::vector<std::uint32_t>{0});
  EXPECT_EQ(plan.threads[1].waits[0].recorded_end_ns, 10);
}

TEST_F(Compile, TheNetworksScaleChangesCommunicationAlone) {
  Compiler scaled(directory.path(), {.network_scale = 0.5});
  ScheduleEvent first = openedAs(0, 0);
  first.id = 42;
  ScheduleEvent second = openedAs(100, 0);
  second.own = model::Work{.compute_ns = 30, .communication_ns = 8};
  second.after = {{42, model::Reason::kMpi, {.compute_ns = 7, .communication_ns = 100}},
                  {0, model::Reason::kMpi, {.compute_ns = 1, .communication_ns = 40}}};
  ASSERT_FALSE(feed(scaled, {{first}, {second}}));
  const PlannedThread& waiting = scaled.plan().threads[1];
  EXPECT_EQ(waiting.waits[0].work, (std::vector<model::Work>{{7, 50}}));
  EXPECT_EQ(waiting.waits[0].least_ns, 21);
  ProgramReader reader;
  ASSERT_TRUE(reader.open(programName(directory.path(), 1)));
  const Instruction* instruction = reader.next();
  ASSERT_NE(instruction, nullptr);
  EXPECT_EQ(instruction->op.own_ns, 34);
  EXPECT_EQ(instruction->op.communication_ns, 4);
}

TEST_F(Compile, AsFastAsPossibleOnlyDelaysHaveTimes) {
  ScheduleEvent delay;
  delay.step = model::Step::kDelay;
  delay.start_ns = 30;
  delay.end_ns = 50;
  for (const model::Timing timing : {model::Timing::kDelta, model::Timing::kAsap}) {
    Compiler timed(directory.path(), {.timing = timing});
    ASSERT_FALSE(feed(timed, {{openedAs(10, 0), delay}}));
    ProgramReader reader;
    ASSERT_TRUE(reader.open(programName(directory.path(), 0)));
    const Instruction* instruction = reader.next();
    ASSERT_NE(instruction, nullptr);
    EXPECT_EQ(instruction->op.start_ns, timing == model::Timing::kAsap ? 0 : 10);
    instruction = reader.next();
    ASSERT_NE(instruction, nullptr);
    EXPECT_EQ(instruction->op.start_ns, 30);
    EXPECT_EQ(instruction->op.end_ns, 50);
  }
}

TEST_F(Compile, AWriteInARowTakes16BytesOfAProgramAsFastAsPossible) {
  constexpr std::int64_t kWrites = 1000;
  Compiler fast(directory.path(), {.timing = model::Timing::kAsap});
  std::vector<ScheduleEvent> events = {openedAs(0, 0)};
  for (std::int64_t i = 0; i < kWrites; ++i) {
    ScheduleEvent write = test::call("pwrite", 10 * i);
    write.fd = Descriptor{0};
    write.request = 4;
    write.result = 4;
    write.offset = 4 * i;
    write.arguments[2] = 4;
    write.arguments[3] = 4 * i;
    events.push_back(write);
  }
  ASSERT_FALSE(feed(fast, {events}));
  const auto bytes = std::filesystem::file_size(programName(directory.path(), 0));
  EXPECT_GE(bytes, 16U * kWrites);
  EXPECT_LE(bytes, 16U * kWrites + 300);
}

TEST_F(Compile, WhatAThreadsOwnOrderSeesToNeedsNoFlag) {
  ScheduleEvent first = openedAs(0, 0);
  first.id = 1;
  ScheduleEvent second = writtenTo(20, 0, 5);
  second.after = {{1}};
  ASSERT_FALSE(feed({{first, second}}));
  EXPECT_EQ(compiler.plan().flag_waiters.flags(), 0U);
}

TEST_F(Compile, ACircleIsRefusedByName) {
  ScheduleEvent a = openedAs(0, 0);
  a.after = {{2}};
  ScheduleEvent b = writtenTo(20, 0, 5);
  b.id = 1;
  ScheduleEvent c = openedAs(0, 0);
  c.after = {{1}};
  ScheduleEvent d = writtenTo(20, 0, 5);
  d.id = 2;
  const auto complaint = feed({{a, b}, {c, d}});
  ASSERT_TRUE(complaint);
  EXPECT_NE(complaint->find("events wait for each other in a circle"), std::string::npos)
      << *complaint;
}

// The recorded call moved nothing; the replay's may.
TEST_F(Compile, ACallThatFailedGetsTheRoomThatItAskedFor) {
  constexpr std::int64_t kAsked = 10 << 20;
  ScheduleEvent read = call("read", 20);
  read.fd = Descriptor{0};
  read.request = kAsked;
  read.failed = true;
  ScheduleEvent write = writtenTo(40, 0, kAsked);
  write.failed = true;
  ScheduleEvent beyond = read;
  beyond.request = UINT64_MAX;
  ScheduleEvent items = call("fwrite", 60);
  items.fd = Descriptor{0};
  items.request = UINT64_MAX;
  items.failed = true;
  ASSERT_FALSE(
      feed({{openedAs(0, 0), read, write}, {openedAs(0, 0), beyond}, {openedAs(0, 0), items}}));
  const std::vector<PlannedThread>& threads = compiler.plan().threads;
  EXPECT_EQ(threads[0].read_request, std::uint64_t{kAsked});
  EXPECT_EQ(threads[0].read_moved, 0U);
  EXPECT_EQ(threads[0].write_request, std::uint64_t{1} << 20);
  EXPECT_EQ(threads[0].write_failed, std::uint64_t{kAsked});
  EXPECT_EQ(threads[1].read_request, std::uint64_t{1} << 31);
  EXPECT_EQ(threads[2].write_failed, 0U);
}

TEST_F(Compile, ItemsThatAReadGotAreWhatItMoved) {
  ScheduleEvent read = call("fread", 20);
  read.fd = Descriptor{0};
  read.arguments[1] = 8;
  read.arguments[2] = 1 << 20;
  read.request = 8 << 20;
  read.result = 100;
  ASSERT_FALSE(feed({{openedAs(0, 0), read}}));
  EXPECT_EQ(compiler.plan().threads[0].read_request, std::uint64_t{8} << 20);
  EXPECT_EQ(compiler.plan().threads[0].read_moved, 101U * 8);
}

TEST_F(Compile, CallsThatWouldEndTheProcessAreRefused) {
  for (const char* name : {"__open_2", "__openat64_2"}) {
    ScheduleEvent event = call(name, 0);
    event.file = FileNumber{0};
    event.new_fd = Descriptor{0};
    const int flags = calls::indexOf(*event.row, calls::Role::kFlags);
    event.arguments[static_cast<std::size_t>(flags)] = O_RDWR | O_TMPFILE;
    EXPECT_EQ(feed({{event}}),
              std::string(name) +
                  " takes no mode: with O_CREAT or O_TMPFILE the C library ends the process; use "
                  "open");
  }
}

TEST_F(Compile, WhatIsFormattedIsNoLongerThanAnInt) {
  ScheduleEvent event = call("fprintf", 20);
  event.fd = Descriptor{0};
  event.result = std::int64_t{1} << 31;
  EXPECT_EQ(feed({{openedAs(0, 0), event}}),
            "fprintf cannot have written 2147483648 bytes: its result is an int");
}

TEST_F(Compile, HowManyRanksThereAreIsNotBelievedBeforeTheyHaveCome) {
  model::ScheduleGlobal global;
  global.ranks = 16777216;
  ASSERT_FALSE(compiler.global(global));
  EXPECT_LT(compiler.plan().ranks.capacity(), 100U);
}

TEST_F(Compile, WhatLiesInADirectoryThatAnEventMakesIsMadeLaterToo) {
  model::ScheduleGlobal global;
  global.ranks = 1;
  ASSERT_FALSE(compiler.global(global));
  std::uint32_t number = 0;
  for (const char* location : {"made", "made/below/file", "madeup"}) {
    model::ScheduleFile file;
    file.location = location;
    ASSERT_FALSE(compiler.file(FileNumber{number++}, file));
  }
  ASSERT_FALSE(compiler.beginThread({}));
  ScheduleEvent event = call("mkdir", 0);
  event.file = FileNumber{0};
  ASSERT_FALSE(compiler.event(event));
  ASSERT_FALSE(compiler.endThread());
  ASSERT_FALSE(compiler.finish());
  EXPECT_TRUE(compiler.plan().files[0].made_by_events);
  EXPECT_TRUE(compiler.plan().files[1].made_by_events);
  EXPECT_FALSE(compiler.plan().files[2].made_by_events);
}

TEST_F(Compile, ARequestBeyondAllAddressesIsRefused) {
  ScheduleEvent event = writtenTo(20, 0, 5);
  event.request = std::uint64_t{1} << 50;
  EXPECT_EQ(feed({{openedAs(0, 0), event}}),
            "write asks for 1125899906842624 bytes, more than a process has room for");
}

TEST_F(Compile, DescriptorsFarOutAreRefused) {
  EXPECT_EQ(feed({{openedAs(0, 900000000)}}),
            "fd 900000000 of rank 0: it makes 1 descriptors, which are numbered from 0");
}

TEST_F(Compile, ThePlanIsReadAsItWasWritten) {
  ScheduleEvent first = openedAs(0, 0);
  first.id = 42;
  ScheduleEvent second = openedAs(100, 0);
  second.after = {{42}};
  ASSERT_FALSE(feed({{first}, {second}}));
  ASSERT_TRUE(writePlan(directory / "plan", compiler.plan()));
  const auto all = [](const Plan&, std::uint32_t) { return true; };
  const base::Result<Plan> plan = readPlan(directory / "plan", all);
  ASSERT_TRUE(plan) << plan.failure().sentence;
  EXPECT_EQ(plan->files[0].location, "file");
  EXPECT_EQ(plan->threads[1].waits[0].recorded_end_ns, 10);
  EXPECT_EQ(plan->flag_waiters, compiler.plan().flag_waiters);

  const base::Result<Plan> of_first =
      readPlan(directory / "plan", [](const Plan&, std::uint32_t rank) { return rank == 0; });
  ASSERT_TRUE(of_first) << of_first.failure().sentence;
  EXPECT_EQ(of_first->threads[0].raises, plan->threads[0].raises);
  EXPECT_TRUE(of_first->threads[1].waits.empty());

  const std::string bytes = test::readAll(directory / "plan");
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    test::writeAll(directory / "cut", bytes.substr(0, cut));
    EXPECT_FALSE(readPlan(directory / "cut", all)) << cut;
  }
}

TEST(CompileSchedule, LeavesNothingWhenItIsRefused) {
  const test::TemporaryDirectory directory;
  test::writeAll(directory / "schedule", "{\"format\":\"omnio-schedule\",");
  const auto plan = compileSchedule(directory / "schedule", directory / "out/programs");
  EXPECT_FALSE(plan);
  EXPECT_FALSE(std::filesystem::exists(directory / "out"));
}

}  // namespace
}  // namespace omnio::replay
