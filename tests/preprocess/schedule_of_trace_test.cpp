// Traces whose events are known, and the schedules made of them.
#include "tests/preprocess/traced_run.hpp"

namespace omnio::preprocess {
namespace {

class ScheduleOfTrace : public TracedRun {};

TEST_F(ScheduleOfTrace, WhatWasReadBeforeItWasWrittenHasToBeThere) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/in", O_RDONLY, 1)
      .data("read", 10200, 10300, 1, 100)
      .data("read", 10300, 10400, 1, 50)
      .data("pread", 10400, 10500, 1, 10, 400)
      .open(10600, 10700, "/run/out", O_RDWR | O_CREAT | O_TRUNC, 2)
      .data("pwrite", 10800, 10900, 2, 100, 0)
      .data("pread", 10900, 11000, 2, 50, 0)
      .open(11100, 11200, "/run/both", O_RDWR, 3)
      .data("pwrite", 11300, 11400, 3, 100, 0)
      .data("pread", 11500, 11600, 3, 200, 50)
      .failedOpen(11700, 11800, "/etc/none", ENOENT);
  save(0, 1, {&thread});
  const Kept kept = schedule();
  const auto& in = kept.files.at("in");
  EXPECT_EQ(in.role, model::FileRole::kInput);
  EXPECT_EQ(in.size, 410U);
  EXPECT_EQ(kept.files.at("out").role, model::FileRole::kOutput);
  EXPECT_FALSE(kept.files.at("out").exists);
  EXPECT_EQ(kept.files.at("both").role, model::FileRole::kUpdated);
  EXPECT_EQ(kept.files.at("both").size, 250U);
  EXPECT_EQ(kept.files.at("@root/etc/none").role, model::FileRole::kAbsent);
  const auto& events = kept.threads.at(0);
  ASSERT_EQ(events.size(), 11U);
  EXPECT_EQ(events[0].start_ns, 0);  // the run begins with its first event
  EXPECT_EQ(events[1].start_ns, 200);
  EXPECT_EQ(events[2].offset, 100);  // where the descriptor had come to
  EXPECT_EQ(events[10].result, ENOENT);
  EXPECT_EQ(kept.headers[0].pid, 4711U);
}

TEST_F(ScheduleOfTrace, HolesOfAFileThatTheRunMadeAreNoInput) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/sparse", O_RDWR | O_CREAT, 1)
      .data("pwrite", 10200, 10300, 1, 10, 1000)
      .data("pread", 10400, 10500, 1, 500, 0)
      .open(10600, 10700, "/run/kept", O_RDWR | O_CREAT, 2)
      .data("pread", 10800, 10900, 2, 30, 0);
  save(0, 1, {&thread});
  const Kept kept = schedule();
  EXPECT_FALSE(kept.files.at("sparse").exists);
  // Nothing of the run can have put there what was read.
  EXPECT_TRUE(kept.files.at("kept").exists);
  EXPECT_EQ(kept.files.at("kept").size, 30U);
}

// A log that is gone on with: what was written behind its end was not there before.
TEST_F(ScheduleOfTrace, WhatIsWrittenBehindAnEndThatWasSoughtIsNoInput) {
  for (const bool tells : {false, true}) {
    Thread thread(token(0));
    thread.open(10000, 10100, "/run/log", O_RDWR, 1)
        .onHandle("fseek", 10200, 10300, 1, 0, 0, SEEK_END)
        .data("write", 10400, 10500, 1, 100);
    if (tells) thread.onHandle("ftell", 10600, 10700, 1, 0, 1100);
    thread.data("pread", 10800, 10900, 1, 1100, 0);
    save(0, 1, {&thread});
    const Kept kept = schedule();
    EXPECT_TRUE(kept.files.at("log").exists);
    EXPECT_EQ(kept.files.at("log").size, 1000U) << tells;
  }
}

TEST_F(ScheduleOfTrace, OtherRanksWaitForTheMakerAndTheWriter) {
  Thread writer(token(0));
  writer.open(10000, 10100, "/run/shared", O_RDWR | O_CREAT, 1)
      .data("pwrite", 10200, 10300, 1, 100, 0)
      .data("pwrite", 10300, 10400, 1, 100, 100)
      .close(10500, 10600, 1);
  Thread reader(token(1));
  reader.open(10150, 10160, "/run/shared", O_RDONLY, 1)
      .data("pread", 10700, 10800, 1, 50, 120)
      .data("pread", 10800, 10900, 1, 50, 0)
      .close(10900, 11000, 1);
  save(0, 2, {&writer});
  save(1, 2, {&reader});
  const Kept kept = schedule();
  ASSERT_EQ(kept.threads.size(), 2U);
  const auto& made = kept.threads[0];
  const auto& used = kept.threads[1];
  ASSERT_NE(made[0].id, 0U);
  EXPECT_EQ(idsOf(used[0]), std::vector<std::uint64_t>{made[0].id});
  ASSERT_NE(made[2].id, 0U);
  EXPECT_EQ(idsOf(used[1]), std::vector<std::uint64_t>{made[2].id});
  EXPECT_TRUE(used[2].after.empty());  // implied by the read before it
  EXPECT_EQ(made[1].id, 0U);
}

TEST_F(ScheduleOfTrace, AFileIsItsContentNotItsName) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/draft", O_WRONLY | O_CREAT | O_TRUNC, 1)
      .data("write", 10200, 10300, 1, 100)
      .close(10300, 10400, 1)
      .rename(10500, 10600, "/run/draft", "/run/final")
      .open(10700, 10800, "/run/final", O_RDONLY, 2)
      .data("read", 10900, 11000, 2, 100)
      .open(11100, 11200, "/run/draft", O_WRONLY | O_CREAT | O_EXCL, 3);
  save(0, 1, {&thread});
  const Kept kept = schedule();
  EXPECT_FALSE(kept.files.at("draft").exists);
  EXPECT_FALSE(kept.files.at("final").exists);
  EXPECT_EQ(kept.files.at("final").role, model::FileRole::kOutput);
}

TEST_F(ScheduleOfTrace, DescriptorsFromBeforeAndOverForkHaveTheirSteps) {
  Thread parent(token(0));
  parent.given("/run/log", 1, wire::Origin::kInherited, 0, O_WRONLY | O_APPEND)
      .data("write", 10000, 10100, 1, 10)
      .open(10200, 10300, "/run/pipe", O_RDWR | O_CREAT | O_TRUNC, 2)
      .close(10400, 10500, 2);
  Thread child(token(0) + 9000);
  child.given("/run/pipe", 2, wire::Origin::kOpened, 4711).data("write", 10600, 10700, 2, 5);
  save(0, 1, {&parent});
  save(0, 1, {&child}, 9000);
  const Kept kept = schedule();
  ASSERT_EQ(kept.threads.size(), 2U);
  const auto& own = kept.threads[0];
  ASSERT_EQ(own.size(), 5U);
  EXPECT_EQ(own[0].step, model::Step::kPreopened);
  EXPECT_EQ(own[0].arguments[0], O_WRONLY | O_APPEND);
  EXPECT_EQ(own[1].fd, own[0].new_fd);
  EXPECT_EQ(own[1].offset, model::kUnknownOffset);  // wherever the end is
  EXPECT_EQ(own[3].step, model::Step::kInherited);  // right after the open, before the close
  EXPECT_EQ(own[3].fd, own[2].new_fd);
  const auto& theirs = kept.threads[1];
  ASSERT_EQ(theirs.size(), 1U);
  EXPECT_EQ(theirs[0].fd, own[3].new_fd);
  // The open emptied the file before the write.
  EXPECT_EQ(idsOf(theirs[0]), (std::vector<std::uint64_t>{own[3].id, own[2].id}));
}

TEST_F(ScheduleOfTrace, OfMpiTheFilesAreTakenAndNotItsOwnBusiness) {
  Thread thread(token(0));
  thread.given("/run/etc", 1, wire::Origin::kInherited)
      .data("read", 10000, 10100, 1, 7, -1, 1)
      .plain("MPI_Init", 9000, 20000)
      .data("pwrite", 31000, 31100, 1, 64, 0, 1)
      .data("pwrite", 31100, 31200, 1, 64, 64, 1)
      .sync(30000, 40000, 1)
      .data("pwrite", 50000, 50100, 1, 64, 128);
  save(0, 1, {&thread});
  const Kept kept = schedule({.partial = true});  // the file's ranks are not in the trace
  std::vector<std::int64_t> offsets;
  for (const ScheduleEvent& event : kept.threads.at(0)) {
    if (event.step == model::Step::kCall) offsets.push_back(event.offset);
  }
  EXPECT_EQ(offsets, (std::vector<std::int64_t>{0, 64, 128}));
}

TEST_F(ScheduleOfTrace, ScalesAreApplied) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/in", O_RDONLY, 1)
      .data("read", 10200, 10300, 1, 100)
      .data("read", 10400, 10500, 1, 51);
  save(0, 1, {&thread});
  const Kept kept = schedule({.timing = model::Timing::kStart, .size_scale = 2.5, .time_scale = 3});
  EXPECT_EQ(kept.global.timing, model::Timing::kStart);
  EXPECT_EQ(kept.files.at("in").size, 377U);
  const auto& events = kept.threads.at(0);
  EXPECT_EQ(events[1].request, 250U);
  EXPECT_EQ(events[2].offset, 250);
  EXPECT_EQ(events[2].request, 127U);
  EXPECT_EQ(events[2].result, 127);
  EXPECT_EQ(events[2].start_ns, 1200);
}

constexpr std::int64_t kMiB = 1 << 20;

TEST_F(ScheduleOfTrace, HolesAreThoseThatSeeksFound) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/in", O_RDONLY, 1)
      .onHandle("lseek", 10200, 10210, 1, 0, 8192, SEEK_DATA)
      .onHandle("lseek", 10220, 10230, 1, 8192, 3 * kMiB, SEEK_HOLE)
      .onHandle("lseek", 10240, 10250, 1, 5 * kMiB, 9 * kMiB, SEEK_HOLE)
      .onHandle("lseek", 10260, 10270, 1, 0, 10 * kMiB, SEEK_END);
  save(0, 1, {&thread});
  const auto holesIn = [](const Kept& kept) { return kept.files.at("in").holes; };
  // Where the end of a hole was not looked for, a block of it is known.
  EXPECT_EQ(holesIn(schedule()),
            (std::vector<model::Hole>{
                {0, 8192}, {3 * kMiB, 3 * kMiB + 4096}, {9 * kMiB, 9 * kMiB + 4096}}));
  // Half of a block is none.
  EXPECT_EQ(holesIn(schedule({.size_scale = 0.5})), (std::vector<model::Hole>{{0, 4096}}));
}

TEST_F(ScheduleOfTrace, WhatAFileGrewByInTheRunIsNoHoleOfBefore) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/in", O_RDWR, 1)
      .data("read", 10110, 10120, 1, 100)
      .onHandle("ftruncate", 10200, 10210, 1, 64 * kMiB)
      .onHandle("lseek", 10220, 10230, 1, 4096, 64 * kMiB, SEEK_DATA);
  save(0, 1, {&thread});
  const Kept kept = schedule();
  EXPECT_EQ(kept.files.at("in").size, 100U);
  EXPECT_TRUE(kept.files.at("in").holes.empty());
}

TEST_F(ScheduleOfTrace, FarFromAllCallsALargeFileNeedsNoBlocks) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/in", O_RDONLY, 1)
      .data("pread", 10110, 10120, 1, 100, 200 * kMiB)
      .data("pread", 10130, 10140, 1, 100, 250 * kMiB)
      .data("pread", 10150, 10160, 1, 100, 400 * kMiB);
  thread.open(11000, 11100, "/run/dense", O_RDONLY, 2)
      .onHandle("lseek", 11110, 11120, 2, 0, 500 * kMiB, SEEK_HOLE);
  save(0, 1, {&thread});
  const Kept kept = schedule();
  EXPECT_EQ(kept.files.at("in").size, 400U * kMiB + 100);
  // Behind a call, the kernel may have read ahead.
  EXPECT_EQ(kept.files.at("in").holes,
            (std::vector<model::Hole>{{0, 200 * kMiB}, {(251 + 16) * kMiB, 400 * kMiB}}));
  EXPECT_EQ(kept.files.at("dense").size, 500U * kMiB);
  EXPECT_TRUE(kept.files.at("dense").holes.empty());
}

TEST_F(ScheduleOfTrace, AFileIsAsLongAsItsFirstOpenFoundIt) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/log", O_WRONLY | O_APPEND | O_CREAT, 1, 5 * kMiB + 100)
      .data("write", 10110, 10120, 1, 10)
      .open(10200, 10300, "/run/log", O_WRONLY | O_APPEND, 2, 5 * kMiB + 110)
      .data("write", 10310, 10320, 2, 10)
      .open(10400, 10500, "/run/in", O_RDONLY, 3, 30 * kMiB)
      .data("read", 10510, 10520, 3, 100)
      .open(10600, 10700, "/run/new", O_WRONLY | O_APPEND | O_CREAT, 4, 0)
      .data("write", 10710, 10720, 4, 10)
      .open(10800, 10900, "/run/new", O_RDONLY, 5, 10)
      .given("/run/out", 6, wire::Origin::kInherited, 0, O_WRONLY | O_APPEND, 700)
      .data("write", 11000, 11010, 6, 10);
  save(0, 1, {&thread});
  const Kept kept = schedule();
  EXPECT_TRUE(kept.files.at("log").exists);
  EXPECT_EQ(kept.files.at("log").size, 5U * kMiB + 100);
  // The end, which was written on, has blocks.
  EXPECT_EQ(kept.files.at("log").holes, (std::vector<model::Hole>{{0, 5 * kMiB}}));
  EXPECT_EQ(kept.files.at("in").size, 30U * kMiB);
  EXPECT_EQ(kept.files.at("in").read_before_written, 100U);
  EXPECT_EQ(kept.files.at("in").holes, (std::vector<model::Hole>{{2 * kMiB, 30 * kMiB}}));
  EXPECT_FALSE(kept.files.at("new").exists);
  EXPECT_EQ(kept.files.at("out").size, 700U);
  EXPECT_TRUE(kept.global.source_whole);
  EXPECT_TRUE(kept.global.left_out.empty());
}

TEST_F(ScheduleOfTrace, APositionTellsWhereAFileEndedWhenItsOpenDoesNot) {
  Thread thread(token(0));
  thread.open(10000, 10010, "/run/half", O_RDONLY, 1)
      .onHandle("fseek", 10020, 10030, 1, -24, 0, SEEK_END)
      .onHandle("ftell", 10040, 10050, 1, 0, 976)
      .onHandle("fseek", 10060, 10070, 1, 0, 0, SEEK_SET)
      .data("read", 10080, 10090, 1, 10)
      .open(10100, 10110, "/run/appended", O_WRONLY | O_APPEND, 2)
      .data("write", 10120, 10130, 2, 10)
      .onHandle("ftell", 10140, 10150, 2, 0, 510)
      .open(10200, 10210, "/run/again", O_WRONLY | O_APPEND, 3)
      .data("write", 10220, 10230, 3, 10)
      .onHandle("lseek", 10240, 10250, 3, 0, 310, SEEK_CUR);
  save(0, 1, {&thread});
  const Kept kept = schedule();
  EXPECT_EQ(kept.files.at("half").size, 1000U);
  EXPECT_EQ(kept.files.at("appended").size, 500U);
  EXPECT_EQ(kept.files.at("again").size, 300U);
  EXPECT_TRUE(kept.global.left_out.empty());
}

TEST_F(ScheduleOfTrace, WhatFollowsAScanTellsHowFarItReadAtLeast) {
  Thread thread(token(0));
  thread.open(10000, 10010, "/run/told", O_RDONLY, 1)
      .data("read", 10020, 10030, 1, 10)
      .onStream("fscanf", 10040, 10050, 1, 0, 3)
      .onStream("fscanf", 10060, 10070, 1, 0, 3)
      .onHandle("ftell", 10080, 10090, 1, 0, 400)
      .open(10100, 10110, "/run/read", O_RDONLY, 2)
      .onStream("fscanf", 10120, 10130, 2, 0, 1)
      .data("read", 10140, 10150, 2, 100)
      .data("read", 10160, 10170, 2, 20)
      .open(10200, 10210, "/run/found", O_RDONLY, 3, 20 * kMiB)
      .onStream("fscanf", 10220, 10230, 3, 0, 1);
  save(0, 1, {&thread});
  const Kept kept = schedule();
  EXPECT_EQ(kept.files.at("told").size, 400U);
  EXPECT_EQ(kept.files.at("read").size, 120U);
  EXPECT_EQ(kept.files.at("found").size, 20U * kMiB);
  EXPECT_TRUE(kept.files.at("found").holes.empty());
  EXPECT_EQ(kept.global.left_out,
            std::vector<std::string>{
                "the sizes of 2 files before the run, told the first: the trace does not tell "
                "them, and the files are prepared as long as calls show them"});
}

TEST_F(ScheduleOfTrace, ATraceWithoutIoIsRefused) {
  Thread thread(token(0));
  thread.plain("MPI_Init", 9000, 20000);
  save(0, 1, {&thread});
  EXPECT_THROW(
      try { schedule(); } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), (directory_ / "trace").native() +
                                    ": holds no I/O on files that could be replayed");
        throw;
      },
      std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "schedule.json"));
}

}  // namespace
}  // namespace omnio::preprocess
