#include "replay/target/kept.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "replay/target/prepare.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::replay {
namespace {

namespace fs = std::filesystem;

PlannedFile input(std::string location, std::uint64_t size, std::uint32_t tree = 0) {
  PlannedFile file;
  file.location = std::move(location);
  file.role = model::FileRole::kInput;
  file.origin = Origin::kKept;
  file.exists = true;
  file.size = size;
  file.tree = tree;
  return file;
}

// Prepares a target again and again, as replays with --inputs keep do, some of which are killed.
class Kept : public ::testing::Test {
 protected:
  void SetUp() override {
    plan.files = {input("a", 5000), input("d/deep/b", 70000), input("d/c", 1),
                  input("e", 0),    input("f", 9000, 1),      input("d/g", 300, 1)};
    targets = {{.name = {}, .directory = directory / "t"},
               {.name = "other", .directory = directory / "o"}};
  }

  // Returns what was kept, or the sentence of a failure.
  base::Result<KeptInputs> prepare() const {
    const auto first = makeTrees(targets, true, true);
    if (!first) return first.failure();
    const auto paths = treesOf(targets, *first);
    if (!paths) return paths.failure();
    const auto trees = Trees::open(*paths);
    if (!trees) return trees.failure();
    const Places places(plan.files.size(), kInTarget);
    const Content content;
    if (const auto made = prepareDirectories(plan, *trees, places, kInTarget); !made) {
      return made.failure();
    }
    base::Result<KeptInputs> kept = takeInputs(targets, plan, *trees, content);
    if (!kept) return kept;
    const auto made = prepareFiles(plan, *trees, places, {}, Cache::kAsIs, content, kept->is_kept);
    if (!made) return made.failure();
    const auto noted = noteInputs(targets, plan, *trees, content);
    if (!noted) return noted.failure();
    return kept;
  }

  // Prepares in a process that is killed at the end of a system call, counted from 1. Returns
  // whether it was; false where it was over before. Nothing where processes cannot be traced.
  std::optional<bool> prepareAndKill(int system_call) const {
    const pid_t child = fork();
    if (child == 0) {
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(2);
      raise(SIGSTOP);
      _exit(prepare() ? 0 : 1);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return std::nullopt;
    ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL);
    for (int stop = 0; stop < 2 * system_call; ++stop) {  // one at its beginning, one at its end
      ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
      waitpid(child, &status, 0);
      if (WIFSTOPPED(status)) continue;
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "before " << system_call;
      return false;
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    return true;
  }

  fs::path pathOf(std::size_t file) const {
    return targets[plan.files[file].tree].directory / kTreeName / plan.files[file].location;
  }

  std::map<std::size_t, ino_t> inodes() const {
    std::map<std::size_t, ino_t> found;
    for (std::size_t i = 0; i < plan.files.size(); ++i) {
      struct stat facts {};
      if (stat(pathOf(i).c_str(), &facts) == 0) found[i] = facts.st_ino;
    }
    return found;
  }

  // All inputs are there with their bytes, and nothing else is. Returns how many were kept.
  std::size_t checkWhole(const KeptInputs& kept) const {
    std::size_t number_kept = 0;
    for (std::size_t i = 0; i < plan.files.size(); ++i) {
      number_kept += kept.is_kept[i] ? 1 : 0;
      std::string wanted(plan.files[i].size, '\0');
      Content().fill(i, 0, wanted);
      EXPECT_EQ(test::readAll(pathOf(i)), wanted) << plan.files[i].location;
    }
    for (const Target& target : targets) {
      std::set<std::string> names;
      for (const auto& entry : fs::directory_iterator(target.directory)) {
        names.insert(entry.path().filename());
      }
      EXPECT_EQ(names, (std::set<std::string>{kTreeName, kMarkerName, kInputsName}));
    }
    return number_kept;
  }

  // The times of files advance in steps of some milliseconds. What is changed after this call has
  // another time than the file has now.
  void awaitTickAfter(const fs::path& file) const {
    const fs::path scratch = directory / "tick";
    struct stat before {};
    struct stat now {};
    ASSERT_EQ(stat(file.c_str(), &before), 0);
    do {
      test::writeAll(scratch, "x");
      ASSERT_EQ(stat(scratch.c_str(), &now), 0);
    } while (std::pair(now.st_ctim.tv_sec, now.st_ctim.tv_nsec) <=
             std::pair(before.st_ctim.tv_sec, before.st_ctim.tv_nsec));
  }

  test::TemporaryDirectory directory;
  Plan plan;
  Targets targets;
};

TEST_F(Kept, AllInputsStayWithTheirInodes) {
  const auto first = prepare();
  ASSERT_TRUE(first) << first.failure().sentence;
  EXPECT_EQ(checkWhole(*first), 0U);
  const auto before = inodes();
  const auto second = prepare();
  ASSERT_TRUE(second) << second.failure().sentence;
  EXPECT_EQ(checkWhole(*second), plan.files.size());
  EXPECT_EQ(inodes(), before);
}

// Whichever system call is the last one of a replay, the next has all inputs with the right bytes,
// has lost one at most, and leaves nothing lying about.
TEST_F(Kept, AKillAfterAnySystemCallLosesOneInputAtMost) {
  ASSERT_TRUE(prepare());
  std::size_t fewest = plan.files.size();
  int calls = 1;
  for (;; ++calls) {
    SCOPED_TRACE(calls);
    const auto was_killed = prepareAndKill(calls);
    if (!was_killed) GTEST_SKIP() << "no process can be traced here";
    const auto after = prepare();
    ASSERT_TRUE(after) << after.failure().sentence;
    const std::size_t kept = checkWhole(*after);
    fewest = std::min(fewest, kept);
    EXPECT_GE(kept, plan.files.size() - 1);
    if (!*was_killed) break;
  }
  EXPECT_GT(calls, 50) << "it made system calls";
  EXPECT_EQ(fewest, plan.files.size() - 1) << "one kill fell between moving a file and noting that";
}

// So do replays that are killed one after the other: each loses one at most.
TEST_F(Kept, KillsAfterEachOtherLoseOneInputEach) {
  for (int calls = 1;; calls += 13) {
    SCOPED_TRACE(calls);
    ASSERT_TRUE(prepare());
    const auto was_killed = prepareAndKill(calls);
    if (!was_killed) GTEST_SKIP() << "no process can be traced here";
    for (const int more : {3 * calls % 101, calls / 2, calls + 11}) (void)prepareAndKill(1 + more);
    const auto after = prepare();
    ASSERT_TRUE(after) << after.failure().sentence;
    EXPECT_GE(checkWhole(*after) + 4, plan.files.size());
    if (!*was_killed) break;
  }
}

// What was changed while it lay aside is as little taken as what was changed in the tree.
TEST_F(Kept, AFileThatWasChangedAfterAKillIsMadeAnew) {
  ASSERT_TRUE(prepare());
  ASSERT_TRUE(putInputsAside(targets[0].directory));
  const fs::path aside = targets[0].directory / kKeptName / "1";
  ASSERT_EQ(test::readAll(aside / "d/c").size(), 1U);
  awaitTickAfter(aside / "a");
  awaitTickAfter(aside / "d/c");
  fs::permissions(aside / "a", fs::perms::owner_read);
  test::writeAll(aside / "d/c", "x");
  const auto after = prepare();
  ASSERT_TRUE(after) << after.failure().sentence;
  EXPECT_EQ(checkWhole(*after), plan.files.size() - 2);
  EXPECT_EQ(after->remade, (std::vector<std::string>{"a: it was changed since it was made",
                                                     "d/c: it was changed since it was made"}));
}

// A kill may leave a part of an entry in the note: what the next replay adds is not lost by that.
TEST_F(Kept, AnEntryThatIsCutOffHidesNoOther) {
  for (int calls = 1;; calls += 11) {
    SCOPED_TRACE(calls);
    ASSERT_TRUE(prepare());
    const fs::path note = targets[0].directory / kInputsName;
    const std::string whole = test::readAll(note);
    test::writeAll(note, whole + whole.substr(0, 30));
    const auto was_killed = prepareAndKill(calls);
    if (!was_killed) GTEST_SKIP() << "no process can be traced here";
    const auto after = prepare();
    ASSERT_TRUE(after) << after.failure().sentence;
    EXPECT_GE(checkWhole(*after), plan.files.size() - 1);
    if (!*was_killed) break;
  }
}

// What a replay has written may fill a target: it is gone before the next tree is made.
TEST_F(Kept, OnlyWhatTheNoteNamesIsPutAside) {
  ASSERT_TRUE(prepare());
  const fs::path& target = targets[0].directory;
  test::writeAll(target / kTreeName / "d" / "output", "bytes");
  fs::create_symlink("/", target / kTreeName / "d" / "link");
  ASSERT_TRUE(makeTrees(targets, true, true));
  const fs::path aside = target / kKeptName / "1";
  EXPECT_TRUE(fs::exists(aside / "a"));
  EXPECT_TRUE(fs::exists(aside / "d" / "deep" / "b"));
  EXPECT_FALSE(fs::exists(aside / "d" / "output"));
  EXPECT_FALSE(fs::exists(fs::symlink_status(aside / "d" / "link")));
  EXPECT_TRUE(fs::exists("/etc"));
  const auto next = prepare();
  ASSERT_TRUE(next) << next.failure().sentence;
  EXPECT_EQ(checkWhole(*next), plan.files.size());
}

TEST_F(Kept, TheTreeThatWasPutAsideGoesWithAReplayThatKeepsNothing) {
  ASSERT_TRUE(prepare());
  for (const Target& target : targets) {
    ASSERT_TRUE(putInputsAside(target.directory));
    test::writeAll(target.directory / kNewInputsName, "half");
  }
  ASSERT_TRUE(makeTrees(targets, false));
  for (const Target& target : targets) {
    for (const char* name : {kKeptName, kInputsName, kNewInputsName}) {
      EXPECT_FALSE(fs::exists(target.directory / name)) << name;
    }
  }
}

}  // namespace
}  // namespace omnio::replay
