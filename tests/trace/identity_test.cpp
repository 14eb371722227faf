#include "trace/runtime/identity.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "core/tracefile/trace.hpp"
#include "core/tracefile/trace_identity.hpp"
#include "core/wire/info.hpp"
#include "core/wire/run.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/trace/recording.hpp"
#include "trace/runtime/identity.hpp"

namespace omnio::trace {
namespace {

// The launcher's answer in a process that has these variables and no others.
void withVariables(const test::Environment& variables,
                   const std::function<void(const LauncherIdentity&)>& check) {
  EXPECT_EQ(test::runInChild([&] {
              clearenv();
              for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
              check(readLauncher());
            }),
            0);
}

TEST(LauncherIdentity, WithoutLauncherIsRankNoughtOfOne) {
  withVariables({}, [](const LauncherIdentity& identity) {
    EXPECT_EQ(identity.rank, 0);
    EXPECT_EQ(identity.ranks, 1);
    EXPECT_STREQ(identity.source, "none");
    EXPECT_STREQ(identity.job, "");
    EXPECT_TRUE(identity.first_on_node);
  });
}

TEST(LauncherIdentity, EachLauncherIsUnderstood) {
  for (const wire::LauncherVariables& launcher : wire::kLaunchers) {
    withVariables({{launcher.rank, "6"},
                   {launcher.ranks, "8"},
                   {launcher.job, "job.17"},
                   {launcher.local_rank, "2"}},
                  [&launcher](const LauncherIdentity& identity) {
                    EXPECT_EQ(identity.rank, 6);
                    EXPECT_EQ(identity.ranks, 8);
                    EXPECT_STREQ(identity.job, "job.17");
                    EXPECT_STREQ(identity.source, launcher.rank);
                    EXPECT_FALSE(identity.first_on_node);
                  });
  }
}

TEST(LauncherIdentity, EachStepAndRestartOfASlurmJobIsAJob) {
  test::Environment variables{{"SLURM_PROCID", "0"},
                              {"SLURM_STEP_NUM_TASKS", "4"},
                              {"SLURM_JOB_ID", "17"},
                              {"SLURM_STEP_ID", "2"}};
  withVariables(variables, [](const LauncherIdentity& one) { EXPECT_STREQ(one.job, "17.2"); });
  variables["SLURM_RESTART_COUNT"] = "1";
  withVariables(variables, [](const LauncherIdentity& one) { EXPECT_STREQ(one.job, "17.2.1"); });
  // In an allocation another launcher's processes have Slurm's variables too.
  variables.insert(
      {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_NAMESPACE", "a.job"}});
  withVariables(variables, [](const LauncherIdentity& one) { EXPECT_STREQ(one.job, "a.job"); });
  variables = {{"SLURM_PROCID", "0"},
               {"SLURM_STEP_NUM_TASKS", "4"},
               {"SLURM_JOB_ID", std::string(1000, '7')}};
  withVariables(variables, [](const LauncherIdentity& one) {
    EXPECT_LT(std::string(one.job).size(), sizeof one.job);
  });
}

TEST(LauncherIdentity, NeedsBothRankAndSize) {
  // Slurm sets the rank in a batch script too, outside of any step.
  withVariables({{"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "1"}},
                [](const LauncherIdentity& one) { EXPECT_STREQ(one.source, "none"); });
}

TEST(LauncherIdentity, NonsenseIsNoRank) {
  for (const char* nonsense : {"", "x", "-1", "3x", " 3"}) {
    withVariables({{"PMI_RANK", nonsense}, {"PMI_SIZE", "4"}},
                  [](const LauncherIdentity& one) { EXPECT_STREQ(one.source, "none"); });
  }
}

TEST(LauncherIdentity, TheFirstKnownLauncherIsRight) {
  withVariables({{"SLURM_PROCID", "0"},
                 {"SLURM_STEP_NUM_TASKS", "1"},
                 {"OMPI_COMM_WORLD_RANK", "3"},
                 {"OMPI_COMM_WORLD_SIZE", "4"}},
                [](const LauncherIdentity& identity) { EXPECT_EQ(identity.rank, 3); });
}

TEST(LauncherIdentity, OutlivesTheEnvironment) {
  const test::TemporaryDirectory directory;
  ASSERT_EQ(test::runTraced(directory / "trace",
                            [&directory] {
                              ASSERT_TRUE(ensureStarted());
                              clearenv();
                              test::recordSeek(test::openRecorded(directory / "file"), 1);
                              finish(wire::AccountState::kEnded);
                            },
                            {{"OMPI_COMM_WORLD_RANK", "2"},
                             {"OMPI_COMM_WORLD_SIZE", "3"},
                             {"PMIX_NAMESPACE", "a.job"}}),
            0);
  const auto trace = tracefile::Trace::open(directory / "trace");
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->processes().size(), 1U);
  const tracefile::ProcessInfo& info = trace->processes()[0]->info;
  EXPECT_EQ(info.rank(), 2);
  EXPECT_EQ(info.ranks(), 3);
  EXPECT_EQ(info.text(wire::info::kJob), "a.job");
}

// The run of a process that is traced with these variables.
wire::RunId runOf(const std::filesystem::path& directory, const test::Environment& variables) {
  const test::TemporaryDirectory place;
  EXPECT_EQ(test::runTraced(
                directory,
                [&place] {
                  ASSERT_TRUE(ensureStarted());
                  test::writeAll(place / "run", tracefile::runIdText(runIdentity().run.id));
                  test::recordSeek(test::openRecorded(place / "file"), 1);
                  finish(wire::AccountState::kEnded);
                },
                variables),
            0);
  wire::RunId run;
  const std::string text = test::readAll(place / "run");
  std::string_view rest = text;
  EXPECT_TRUE(wire::takeRunId(rest, run)) << text;
  return run;
}

std::string jobIn(const std::filesystem::path& directory) {
  const auto trace = tracefile::Trace::open(directory);
  if (!trace || trace->processes().size() != 1) return "not one process";
  return std::string(trace->processes()[0]->info.text(wire::info::kJob));
}

TEST(RunIdentity, OfASlurmStepIsNotMadeOfItsNumbers) {
  const test::TemporaryDirectory directory;
  const test::Environment step{{"SLURM_PROCID", "0"},
                               {"SLURM_STEP_NUM_TASKS", "4"},
                               {"SLURM_JOB_ID", "17"},
                               {"SLURM_STEP_ID", "2"},
                               {"SLURM_RESTART_COUNT", "1"}};
  // Preloaded without `omnio trace`, it is made of the trace directory.
  const wire::RunId here = runOf(directory / "here", step);
  EXPECT_EQ(jobIn(directory / "here"), "17.2.1");
  EXPECT_TRUE(tracefile::TraceIdentity::of(directory / "here").isCandidate({.run = here}));
  EXPECT_EQ(runOf(directory / "here", {}), here);
  EXPECT_NE(runOf(directory / "there", step), here);
  // `omnio trace` hands its own on.
  test::Environment given = step;
  given["OMNIO_RUN"] = "00112233445566778899aabbccddeeff.1.2.3";
  EXPECT_EQ(runOf(directory / "below", given),
            (wire::RunId{.high = 0x0011223344556677, .low = 0x8899AABBCCDDEEFF}));
  EXPECT_EQ(jobIn(directory / "below"), "17.2.1");
  // A value that means nothing counts as none.
  given["OMNIO_RUN"] = "17.2.1";
  EXPECT_EQ(runOf(directory / "here", given), here);
}

TEST(Facts, SayWhatTheProcessIs) {
  const test::TemporaryDirectory directory;
  ASSERT_EQ(test::runTraced(directory / "trace",
                            [&directory] {
                              ASSERT_TRUE(ensureStarted());
                              test::recordSeek(test::openRecorded(directory / "file"), 1);
                              finish(wire::AccountState::kEnded);
                            },
                            {{"OMNIO_EXCLUDE", "*.log"}, {"OMNIO_FLAVOUR", "auto"}}),
            0);
  const auto trace = tracefile::Trace::open(directory / "trace");
  ASSERT_TRUE(trace);
  const tracefile::ProcessInfo& info = trace->processes().at(0)->info;
  EXPECT_EQ(info.text(wire::info::kProgram), std::filesystem::read_symlink("/proc/self/exe"));
  EXPECT_EQ(info.text(wire::info::kDirectory), std::filesystem::current_path());
  EXPECT_EQ(info.text(wire::info::kExclude), "*.log");
  EXPECT_EQ(info.text(wire::info::kLibrary), "serial");
  EXPECT_EQ(info.text(wire::info::kRankSource), "none");
  EXPECT_NE(info.text(wire::info::kCommand), "");
}

TEST(Facts, ThatDoNotFitAreLeftOutWhole) {
  EXPECT_EQ(test::runInChild([] {
              for (std::size_t bytes = 1; bytes < 3000; bytes += 7) {
                std::vector<char> facts(bytes + 16, 'x');
                const std::size_t used = describeProcess(facts.data(), bytes, false);
                ASSERT_LE(used, bytes);
                for (std::size_t i = bytes; i < facts.size(); ++i) ASSERT_EQ(facts[i], 'x');
                std::size_t ends = 0;
                for (std::size_t i = 0; i < used; ++i) ends += facts[i] == '\0' ? 1U : 0U;
                ASSERT_EQ(ends % 2, 0U) << bytes;
              }
            }),
            0);
}

TEST(UntracedPrograms, AreLaunchersAndShells) {
  for (const char* path :
       {"/usr/bin/mpirun", "/usr/bin/orted", "/bin/sh", "bash", "/usr/bin/env"}) {
    EXPECT_TRUE(isUntracedProgram(path)) << path;
  }
  for (const char* path : {"/usr/bin/lmp", "/home/me/sh/app", "/usr/bin/python3", "/opt/bashful"}) {
    EXPECT_FALSE(isUntracedProgram(path)) << path;
  }
}

TEST(Start, NeedsAnAbsoluteTraceDirectory) {
  for (const char* directory : {"", "relative", "./x"}) {
    EXPECT_EQ(test::runInChild([] { EXPECT_FALSE(ensureStarted()); }, {{"OMNIO_DIR", directory}}),
              0);
  }
  EXPECT_EQ(test::runInChild([] { EXPECT_FALSE(ensureStarted()); },
                             {{"OMNIO_DIR", "/" + std::string(5000, 'x')}}),
            0);
}

}  // namespace
}  // namespace omnio::trace
