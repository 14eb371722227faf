#include "cli/trace/trace_directory.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "core/tracefile/trace_identity.hpp"
#include "core/wire/run.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;
using test::TemporaryDirectory;

const Launcher kNone;
const Launcher kRank0{.job = "PMI_RANK 17", .writes_documents = true, .ranks = 2};
const Launcher kRank1{.job = "PMI_RANK 17", .writes_documents = false, .ranks = 2};
const Launcher kOtherJob{.job = "PMI_RANK 18", .writes_documents = true, .ranks = 2};

// The environment has these variables of launchers and no others while it lives.
class LauncherVariables {
 public:
  explicit LauncherVariables(const std::map<std::string, std::string>& variables) {
    for (const wire::LauncherVariables& launcher : wire::kLaunchers) {
      for (const char* name : {launcher.rank, launcher.ranks, launcher.job, launcher.local_rank,
                               launcher.job_parts[0], launcher.job_parts[1]}) {
        if (name != nullptr) remove(name);
      }
    }
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  }
  ~LauncherVariables() {
    for (const auto& [name, value] : before_) {
      if (value.empty()) {
        unsetenv(name.c_str());
      } else {
        setenv(name.c_str(), value.c_str(), 1);
      }
    }
  }
  LauncherVariables(const LauncherVariables&) = delete;
  LauncherVariables& operator=(const LauncherVariables&) = delete;

 private:
  void remove(const char* name) {
    const char* value = getenv(name);
    before_.emplace(name, value == nullptr ? "" : value);
    unsetenv(name);
  }

  std::map<std::string, std::string> before_;
};

Launcher launcherWith(const std::map<std::string, std::string>& variables) {
  const LauncherVariables set(variables);
  return launcherOf();
}

// This process is another user while it lives, so that permissions count. Only root can be.
class Unprivileged {
 public:
  Unprivileged() : done_(geteuid() == 0 && seteuid(kStranger) == 0) {}
  ~Unprivileged() {
    if (done_ && seteuid(0) != 0) abort();
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  static constexpr uid_t kStranger = 54321;
  bool done_;
};

std::vector<std::string> namesIn(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename().native());
  }
  return names;
}

std::string firstLineOf(const fs::path& path) {
  const std::string text = test::readAll(path);
  return text.substr(0, text.find('\n'));
}

void expectRefused(const fs::path& directory, const Launcher& launcher, base::Code code,
                   const std::string& sentence) {
  const base::Result<ClaimedDirectory> claimed = claimDirectory(directory, launcher);
  ASSERT_FALSE(claimed) << directory;
  EXPECT_EQ(claimed.failure().code, code);
  EXPECT_EQ(claimed.failure().sentence, sentence);
}

void expectHeld(const fs::path& directory, const Launcher& launcher) {
  expectRefused(directory, launcher, base::Code::kInvalid,
                fmt::format("{} holds another trace already; name another directory with -o, or "
                            "remove it",
                            directory.native()));
}

TEST(LauncherOf, WithoutLauncherIsNoJob) {
  const Launcher launcher = launcherWith({});
  EXPECT_EQ(launcher.job, "");
  EXPECT_TRUE(launcher.writes_documents);
  EXPECT_EQ(launcher.ranks, 1);
}

TEST(LauncherOf, EachLauncherNamesItsJob) {
  for (const wire::LauncherVariables& names : wire::kLaunchers) {
    const Launcher first =
        launcherWith({{names.rank, "0"}, {names.ranks, "8"}, {names.job, "job.17"}});
    EXPECT_EQ(first.job, fmt::format("{} job.17", names.rank));
    EXPECT_TRUE(first.writes_documents);
    EXPECT_EQ(first.ranks, 8);
    const Launcher later =
        launcherWith({{names.rank, "6"}, {names.ranks, "8"}, {names.job, "job.17"}});
    EXPECT_EQ(later.job, first.job);
    EXPECT_FALSE(later.writes_documents);
  }
}

TEST(LauncherOf, ARankWithoutASizeIsNoJob) {
  // Slurm sets the rank in a batch script too, outside of any step.
  EXPECT_EQ(launcherWith({{"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "17"}}).job, "");
}

TEST(LauncherOf, EachStepAndRestartOfASlurmJobIsAJob) {
  std::map<std::string, std::string> variables{
      {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_JOB_ID", "17"}};
  EXPECT_EQ(launcherWith(variables).job, "SLURM_PROCID 17");
  variables["SLURM_STEP_ID"] = "2";
  EXPECT_EQ(launcherWith(variables).job, "SLURM_PROCID 17.2");
  variables["SLURM_RESTART_COUNT"] = "1";
  EXPECT_EQ(launcherWith(variables).job, "SLURM_PROCID 17.2.1");
  // In an allocation another launcher's processes have Slurm's variables too.
  variables.insert(
      {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_NAMESPACE", "a.job"}});
  EXPECT_EQ(launcherWith(variables).job, "OMPI_COMM_WORLD_RANK a.job");
}

TEST(DefaultDirectory, IsNamedAfterTheProgramAndTheJobOrProcess) {
  EXPECT_EQ(defaultDirectory("/usr/bin/lmp", kNone), fmt::format("lmp.{}.trace", getpid()));
  EXPECT_EQ(defaultDirectory("lmp", kRank0), "lmp.17.trace");
  EXPECT_EQ(defaultDirectory("lmp", kRank1), "lmp.17.trace");
  // One folder of the working directory, whatever the launcher calls its job.
  EXPECT_EQ(defaultDirectory("./lmp", {.job = "PMI_RANK ../a b/c"}), "lmp...-a b-c.trace");
}

TEST(ClaimedDirectory, IsMadeWithTheFoldersAboveIt) {
  const TemporaryDirectory directory;
  const fs::path wanted = directory / "a" / "b" / "trace";
  const auto claimed = claimDirectory(wanted, kNone);
  ASSERT_TRUE(claimed) << claimed.failure().sentence;
  EXPECT_EQ(claimed->path, wanted);
  EXPECT_TRUE(claimed->run.id.isSet());
  EXPECT_EQ(claimed->run.supervisor.pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(tracefile::claimedRun(wanted), claimed->run.id);
  EXPECT_EQ(namesIn(wanted), std::vector<std::string>{tracefile::kClaimFile});
}

TEST(ClaimedDirectory, IsCanonical) {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "real");
  fs::create_directory_symlink("real", directory / "link");
  const auto claimed = claimDirectory(directory / "link" / ".." / "link" / "trace", kNone);
  ASSERT_TRUE(claimed) << claimed.failure().sentence;
  EXPECT_EQ(claimed->path, directory / "real" / "trace");
}

TEST(ClaimedDirectory, MayHoldOtherFiles) {
  const TemporaryDirectory directory;
  test::writeAll(directory / "notes.txt", "kept");
  EXPECT_TRUE(claimDirectory(directory.path(), kNone));
  EXPECT_EQ(test::readAll(directory / "notes.txt"), "kept");
}

TEST(ClaimedDirectory, OfACommandIsRefusedToTheNextOne) {
  const TemporaryDirectory directory;
  const auto claimed = claimDirectory(directory.path(), kNone);
  ASSERT_TRUE(claimed);
  const std::string before = test::readAll(directory / tracefile::kClaimFile);
  for (const Launcher& other : {kNone, kRank0}) expectHeld(directory.path(), other);
  EXPECT_EQ(test::readAll(directory / tracefile::kClaimFile), before);
  EXPECT_EQ(namesIn(directory.path()), std::vector<std::string>{tracefile::kClaimFile});
}

TEST(ClaimedDirectory, OfAJobIsSharedByItsRanksAlone) {
  const TemporaryDirectory directory;
  const auto first = claimDirectory(directory.path(), kRank1);
  ASSERT_TRUE(first);
  EXPECT_EQ(firstLineOf(directory / tracefile::kClaimFile), "PMI_RANK 17");
  const auto second = claimDirectory(directory.path(), kRank0);
  ASSERT_TRUE(second) << second.failure().sentence;
  EXPECT_EQ(second->run.id, first->run.id);
  EXPECT_EQ(second->run.supervisor.pid, static_cast<std::uint32_t>(getpid()));
  for (const Launcher& other : {kNone, kOtherJob}) expectHeld(directory.path(), other);
  EXPECT_EQ(namesIn(directory.path()), std::vector<std::string>{tracefile::kClaimFile});
}

TEST(ClaimedDirectory, OfOneSlurmJobHasARunOfItsOwnEachTime) {
  const TemporaryDirectory directory;
  std::map<std::string, std::string> variables{{"SLURM_PROCID", "0"},
                                               {"SLURM_STEP_NUM_TASKS", "4"},
                                               {"SLURM_JOB_ID", "17"},
                                               {"SLURM_STEP_ID", "2"}};
  const Launcher step = launcherWith(variables);
  const auto claimed = claimDirectory(directory / "trace", step);
  ASSERT_TRUE(claimed);
  // Another step and another start of the job may not write into its trace.
  variables["SLURM_STEP_ID"] = "3";
  expectHeld(directory / "trace", launcherWith(variables));
  variables["SLURM_STEP_ID"] = "2";
  variables["SLURM_RESTART_COUNT"] = "1";
  expectHeld(directory / "trace", launcherWith(variables));
  // The run is not made of the job's name: elsewhere, and here again, it is another one.
  const auto elsewhere = claimDirectory(directory / "other", step);
  ASSERT_TRUE(elsewhere);
  EXPECT_NE(elsewhere->run.id, claimed->run.id);
  fs::remove_all(directory / "trace");
  const auto again = claimDirectory(directory / "trace", step);
  ASSERT_TRUE(again);
  EXPECT_NE(again->run.id, claimed->run.id);
}

TEST(ClaimedDirectory, WithAClaimThatCannotBeReadIsRefused) {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "folder");
  fs::create_directory(directory / "folder" / tracefile::kClaimFile);
  fs::create_directory(directory / "empty");
  test::writeAll(directory / "empty" / tracefile::kClaimFile, "");
  for (const char* name : {"folder", "empty"}) {
    for (const Launcher& launcher : {kNone, kRank0}) expectHeld(directory / name, launcher);
  }
}

TEST(ClaimedDirectory, ThatIsAFileIsRefused) {
  const TemporaryDirectory directory;
  const fs::path file = directory / "file";
  test::writeAll(file, "text");
  for (const fs::path& path : {file, file / "below"}) {
    expectRefused(path, kNone, base::Code::kSystem,
                  fmt::format("cannot create {}: Not a directory", path.native()));
  }
  EXPECT_EQ(test::readAll(file), "text");
}

TEST(ClaimedDirectory, ThatCannotBeWrittenIsRefused) {
  const TemporaryDirectory directory;
  const fs::path closed = directory / "closed";
  fs::create_directory(closed);
  ASSERT_EQ(chmod(directory.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(closed.c_str(), 0555), 0);
  {
    const Unprivileged user;
    expectRefused(closed, kNone, base::Code::kSystem,
                  fmt::format("cannot write in {}: Permission denied", closed.native()));
    expectRefused(closed / "below", kNone, base::Code::kSystem,
                  fmt::format("cannot create {}/below: Permission denied", closed.native()));
  }
  EXPECT_TRUE(fs::is_empty(closed));
  ASSERT_EQ(chmod(closed.c_str(), 0755), 0);
}

TEST(ClaimedDirectory, IsNamedPrintablyInWhatIsSaidOfIt) {
  const TemporaryDirectory directory;
  const fs::path odd = directory / "a\nb\\c";
  ASSERT_TRUE(claimDirectory(odd, kNone));
  expectRefused(odd, kNone, base::Code::kInvalid,
                fmt::format("{}/a\\x0Ab\\x5Cc holds another trace already; name another directory "
                            "with -o, or remove it",
                            directory.path().native()));
  test::writeAll(odd / "file", "");
  expectRefused(odd / "file", kNone, base::Code::kSystem,
                fmt::format("cannot create {}/a\\x0Ab\\x5Cc/file: Not a directory",
                            directory.path().native()));
}

TEST(ReleasedDirectory, OfACommandIsRemovedWhenItIsEmpty) {
  const TemporaryDirectory directory;
  const auto empty = claimDirectory(directory / "empty", kNone);
  ASSERT_TRUE(empty);
  releaseDirectory(empty->path, kNone);
  EXPECT_FALSE(fs::exists(empty->path));
  fs::create_directory(directory / "used");
  test::writeAll(directory / "used" / "notes.txt", "kept");
  const auto used = claimDirectory(directory / "used", kNone);
  ASSERT_TRUE(used);
  releaseDirectory(used->path, kNone);
  EXPECT_EQ(namesIn(used->path), std::vector<std::string>{"notes.txt"});
  EXPECT_TRUE(claimDirectory(directory / "used", kNone));
}

TEST(ReleasedDirectory, OfAJobStaysForItsOtherRanks) {
  const TemporaryDirectory directory;
  const auto claimed = claimDirectory(directory / "trace", kRank0);
  ASSERT_TRUE(claimed);
  releaseDirectory(claimed->path, kRank0);
  EXPECT_EQ(tracefile::claimedRun(claimed->path), claimed->run.id);
}

TEST(OpenDirectory, IsFoundWhereItIsNow) {
  const TemporaryDirectory directory;
  const fs::path first = directory / "first";
  fs::create_directory(first);
  const OpenDirectory opened(first);
  EXPECT_EQ(opened.path(), first);
  fs::rename(first, directory / "second");
  EXPECT_EQ(opened.path(), directory / "second");
  EXPECT_EQ(opened.first_path(), first);
  // Another one at its first path is not it.
  fs::create_directory(first);
  EXPECT_EQ(opened.path(), directory / "second");
  fs::remove(first);
  fs::rename(directory / "second", first);
  EXPECT_EQ(opened.path(), first);
}

TEST(OpenDirectory, ThatWasRemovedIsNowhere) {
  const TemporaryDirectory directory;
  const fs::path first = directory / "first";
  fs::create_directory(first);
  const OpenDirectory opened(first);
  fs::remove(first);
  EXPECT_EQ(opened.path(), std::nullopt);
  fs::create_directory(first);
  EXPECT_EQ(opened.path(), std::nullopt);
  // Its name as the kernel gives it, taken by another one.
  fs::create_directory(directory / "first (deleted)");
  EXPECT_EQ(opened.path(), std::nullopt);
}

TEST(OpenDirectory, MayHaveAnyName) {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "first");
  const OpenDirectory opened(directory / "first");
  for (const char* name : {"x (deleted)", "a\nb", "\xFF"}) {
    fs::rename(*opened.path(), directory / name);
    EXPECT_EQ(opened.path(), directory / name);
  }
}

TEST(OpenDirectory, ThatCannotBeOpenedIsLookedForByItsName) {
  const TemporaryDirectory directory;
  const fs::path later = directory / "later";
  const OpenDirectory opened(later);
  EXPECT_EQ(opened.path(), std::nullopt);
  fs::create_directory(later);
  EXPECT_EQ(opened.path(), later);
}

}  // namespace
}  // namespace omnio::cli
