#include "phase_model/metadata_runs.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace omnio::phases {
namespace {

using calls::CallId;

// The calls of one thread. Each takes 10 ns.
class MetadataRunsTest : public testing::Test {
 protected:
  void call(CallId id, const std::string& directory = "/d", bool creates = false) {
    MetadataCall call{.kind = {.call = calls::toNumber(id), .creates = creates},
                      .directory = directory,
                      .step = step_,
                      .mpi_calls_ago = mpi_calls_,
                      .start_ns = static_cast<std::int64_t>(step_) * 100,
                      .end_ns = static_cast<std::int64_t>(step_) * 100 + 10,
                      .io = {.metadata_ns = 10}};
    ++step_;
    mpi_calls_ = 0;
    runs_.add(std::move(call));
  }
  void repeat(int times, const std::vector<CallId>& cycle) {
    for (int i = 0; i < times; ++i) {
      for (const CallId id : cycle) call(id);
    }
  }
  void mpiCalls(std::uint64_t calls) { mpi_calls_ += calls; }

  // "open 3 close 3" for each run, in their order.
  std::vector<std::string> found() {
    std::vector<std::string> texts;
    for (const MetadataRun& run : runs_.finish()) {
      std::string text = run.mixed ? "mixed" : "";
      for (const auto& [kind, count] : run.calls) {
        text += fmt::format("{}{}{} {}", text.empty() ? "" : " ",
                            calls::rowOf(CallId{kind.call}).name, kind.creates ? "!" : "", count);
      }
      texts.push_back(text);
    }
    return texts;
  }

  MetadataRuns runs_{16};
  std::uint64_t step_ = 0;
  std::uint64_t mpi_calls_ = 0;
};

using Texts = std::vector<std::string>;

TEST_F(MetadataRunsTest, ACycleIsOneRun) {
  repeat(50, {CallId::open, CallId::stat, CallId::close, CallId::unlink});
  const Texts texts = found();
  ASSERT_EQ(texts.size(), 1U);
  for (const char* part : {"open 50", "stat 50", "close 50", "unlink 50"}) {
    EXPECT_NE(texts[0].find(part), std::string::npos) << texts[0];
  }
}

TEST_F(MetadataRunsTest, OtherCallsBeginAnother) {
  repeat(40, {CallId::mkdir});
  repeat(40, {CallId::stat});
  repeat(40, {CallId::rmdir});
  EXPECT_EQ(found(), (Texts{"mkdir 40", "stat 40", "rmdir 40"}));
}

TEST_F(MetadataRunsTest, WhatComesBeforeACycleIsARunOfItsOwn) {
  call(CallId::access);
  call(CallId::mkdir);
  repeat(100, {CallId::stat});
  const Texts texts = found();
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_NE(texts[0].find("mkdir 1"), std::string::npos) << texts[0];
  EXPECT_EQ(texts[1], "stat 100");
}

TEST_F(MetadataRunsTest, OpensThatMakeTheFileAreOfAnotherKind) {
  for (int i = 0; i < 40; ++i) call(CallId::open, "/d", true);
  for (int i = 0; i < 40; ++i) call(CallId::open);
  EXPECT_EQ(found(), (Texts{"open! 40", "open 40"}));
}

// However few calls a step has: the barriers of mdtest tell.
TEST_F(MetadataRunsTest, AnMpiCallEndsARunOfOtherKinds) {
  repeat(3, {CallId::mkdir});
  mpiCalls(1);
  repeat(3, {CallId::stat});
  mpiCalls(1);
  repeat(3, {CallId::rmdir});
  EXPECT_EQ(found(), (Texts{"mkdir 3", "stat 3", "rmdir 3"}));
}

TEST_F(MetadataRunsTest, TheSameGoesOnBehindAnMpiCallAndNotBehindAGap) {
  repeat(3, {CallId::stat});
  mpiCalls(16);
  repeat(3, {CallId::stat});
  mpiCalls(17);
  repeat(3, {CallId::stat});
  EXPECT_EQ(found(), (Texts{"stat 6", "stat 3"}));
}

// Directories are listed between files in a walk over a tree.
TEST_F(MetadataRunsTest, ACycleWithManyCallsOfOneKindIsOneRun) {
  for (int i = 0; i < 100; ++i) {
    repeat(20, {CallId::lstat});
    repeat(1, {CallId::chdir, CallId::access});
  }
  const Texts texts = found();
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_NE(texts[0].find("lstat 2000"), std::string::npos) << texts[0];
}

TEST_F(MetadataRunsTest, ManyShortRunsBetweenTwoGapsAreOne) {
  for (int i = 0; i < 30; ++i) {
    repeat(1, {CallId::mkdir});
    mpiCalls(1);
    repeat(1, {CallId::access});
    mpiCalls(1);
  }
  repeat(20, {CallId::rmdir});
  const Texts texts = found();
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_TRUE(texts[0].starts_with("mixed ")) << texts[0];
  EXPECT_NE(texts[0].find("mkdir 30"), std::string::npos) << texts[0];
  EXPECT_EQ(texts[1], "rmdir 20");
}

// As when a second thread looks at a file now and then.
TEST_F(MetadataRunsTest, LongRunsThatAreAlikeButForShortOnesBetweenAreOne) {
  for (int i = 0; i < 20; ++i) {
    repeat(300, {CallId::mkdir});
    repeat(1, {CallId::access});
  }
  const std::vector<MetadataRun> runs = runs_.finish();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].operations, 6000U);
  EXPECT_EQ(runs[1].operations, 20U);
  ASSERT_EQ(runs[0].stretches.size(), 20U);
  EXPECT_EQ(runs[0].stretches[1].first_step, 301U);
  EXPECT_EQ(runs[0].stretches[1].last_step, 600U);
  ASSERT_EQ(runs[1].stretches.size(), 20U);
  EXPECT_EQ(runs[1].stretches[19].first_step, 20U * 301 - 1);
}

TEST_F(MetadataRunsTest, IrregularCallsStayInBoundedMemoryAndAreAllCounted) {
  const std::vector<CallId> all = {CallId::mkdir, CallId::access, CallId::chmod, CallId::stat,
                                   CallId::unlink};
  for (std::size_t i = 0; i < 100'000; ++i) {
    mpiCalls(i % 3 == 0 ? 40 : 1);
    call(all[(i * i + i / 7) % all.size()]);
  }
  std::uint64_t calls = 0;
  const std::vector<MetadataRun> runs = runs_.finish();
  std::size_t stretches = 0;
  for (const MetadataRun& run : runs) {
    calls += run.operations;
    stretches += run.stretches.size();
  }
  EXPECT_LE(runs.size(), kMaxRuns);
  EXPECT_LE(stretches, kMaxStretches);
  EXPECT_EQ(calls, 100'000U);
}

TEST_F(MetadataRunsTest, TheDirectoryIsTheDeepestThatHasAllNames) {
  call(CallId::mkdir, "/d/rank.1/a");
  call(CallId::mkdir, "/d/rank.1/b/c");
  call(CallId::mkdir, "/d/rank.1/b");
  const std::vector<MetadataRun> runs = runs_.finish();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].directory, "/d/rank.1");
  EXPECT_EQ(runs[0].directories.size(), 3U);
  EXPECT_EQ(runs[0].io, (event::IoTime{.metadata_ns = 30}));
}

RankRun runOf(int rank, CallId call, const std::string& directory, int times = 1) {
  RankRun each{.rank = rank, .run = {}};
  for (int i = 0; i < times; ++i) {
    each.run.add(MetadataCall{.kind = {.call = calls::toNumber(call)},
                              .directory = directory,
                              .start_ns = 1000 + 100 * i,
                              .end_ns = 1010 + 100 * i,
                              .io = {.metadata_ns = 10}});
  }
  return each;
}

TEST(MetadataPhases, RunsOfRanksAreOnePhaseAndItsTimeIsThatOfTheSlowest) {
  model::PhaseModel model;
  model.processes = 3;
  std::vector<RankRun> runs;
  for (int rank = 0; rank < 3; ++rank) {
    runs.push_back(runOf(rank, CallId::mkdir, fmt::format("/d/rank.{}", rank), rank + 1));
    runs.push_back(runOf(rank, CallId::stat, "/d/all"));
  }
  std::vector<int> phase_of;
  addMetadataPhases(runs, 1000, model, phase_of);
  EXPECT_EQ(phase_of, (std::vector<int>{1, 2, 1, 2, 1, 2}));
  ASSERT_EQ(model.phases.size(), 2U);
  const model::Phase& own = model.phases[0];
  EXPECT_EQ(own.ranks, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(own.metadata.operations, 6U);
  EXPECT_EQ(own.metadata.directories, 3U);
  EXPECT_EQ(own.calls, (std::vector<std::pair<std::string, std::uint64_t>>{{"mkdir", 6}}));
  EXPECT_EQ(own.io, (event::IoTime{.metadata_ns = 30}));
  EXPECT_EQ(own.begin_ns, 0);
  EXPECT_EQ(own.end_ns, 210);
  const model::ModelFile& directory = model.files[static_cast<std::size_t>(own.file)];
  EXPECT_EQ(directory.path, "/d/rank.{rank}");
  EXPECT_FALSE(directory.shared);
  EXPECT_TRUE(directory.directory);
  const model::Phase& shared = model.phases[1];
  EXPECT_EQ(model.files[static_cast<std::size_t>(shared.file)].path, "/d/all");
  EXPECT_TRUE(model.files[static_cast<std::size_t>(shared.file)].shared);
  EXPECT_EQ(shared.metadata.operations, 3U);
}

// Their ids come behind those of data phases, which stay as they are.
TEST(MetadataPhases, TheKthOfAKindBelongsToTheKthOfTheOthers) {
  model::PhaseModel model;
  model.processes = 2;
  model.phases.emplace_back().id = 1;
  std::vector<RankRun> runs = {runOf(0, CallId::stat, "/d"), runOf(0, CallId::mkdir, "/d"),
                               runOf(0, CallId::stat, "/d"), runOf(1, CallId::stat, "/d"),
                               runOf(1, CallId::stat, "/d")};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].run.begin_ns += static_cast<std::int64_t>(i % 3) * 10'000;
  }
  std::vector<int> phase_of;
  addMetadataPhases(runs, 0, model, phase_of);
  EXPECT_EQ(phase_of, (std::vector<int>{2, 3, 4, 2, 4}));
}

}  // namespace
}  // namespace omnio::phases
