
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/core/temporary_directory.hpp"
#include "tests/trace/traced_child.hpp"
#include "trace/runtime/handle_table.hpp"
#include "trace/runtime/process.hpp"

namespace omnio::trace {
namespace {

class Paths : public testing::Test {
 protected:
  void traced(const std::function<void()>& body, const test::Environment& variables = {}) {
    EXPECT_EQ(test::runTraced(
                  directory_ / "trace",
                  [&body] {
                    ASSERT_TRUE(ensureStarted());
                    body();
                  },
                  variables),
              0);
  }
  static std::string resolved(int dirfd, const char* name) {
    const wire::PathParts parts = resolvePath(dirfd, name);
    std::string text;
    for (std::size_t i = 0; i < parts.size(); ++i) text += parts[i];
    return text;
  }
  static bool recorded(const char* path) { return isRecorded({.directory = {}, .name = path}); }

  test::TemporaryDirectory directory_;
};

TEST_F(Paths, AbsoluteOnesStayAsTheyAre) {
  traced([] {
    EXPECT_EQ(resolved(AT_FDCWD, "/a/../b"), "/a/../b");
    EXPECT_EQ(resolved(99, "/a"), "/a");
    EXPECT_EQ(resolvePath(AT_FDCWD, "/a").nameOffset(), 0U);
  });
}

TEST_F(Paths, RelativeOnesFollowTheWorkingDirectory) {
  traced([this] {
    std::filesystem::create_directory(directory_ / "sub");
    ASSERT_EQ(chdir(directory_.path().c_str()), 0);
    workingDirectoryChanged();
    EXPECT_EQ(resolved(AT_FDCWD, "x"), (directory_ / "x").native());
    ASSERT_EQ(chdir("sub"), 0);
    workingDirectoryChanged();
    EXPECT_EQ(resolved(AT_FDCWD, "x"), (directory_ / "sub/x").native());
    EXPECT_EQ(resolved(AT_FDCWD, ""), (directory_ / "sub/").native());
  });
}

TEST_F(Paths, InTheRootDirectoryThereIsOneSlash) {
  traced([] {
    ASSERT_EQ(chdir("/"), 0);
    workingDirectoryChanged();
    EXPECT_EQ(resolved(AT_FDCWD, "data/x"), "/data/x");
    EXPECT_FALSE(isRecorded(resolvePath(AT_FDCWD, "proc/self/maps")));
  });
}

TEST_F(Paths, ARemovedWorkingDirectoryIsNoCrash) {
  traced([this] {
    std::filesystem::create_directory(directory_ / "gone");
    ASSERT_EQ(chdir((directory_ / "gone").c_str()), 0);
    std::filesystem::remove(directory_ / "gone");
    workingDirectoryChanged();
    EXPECT_EQ(resolved(AT_FDCWD, "x"), "?/x");
  });
}

TEST_F(Paths, RelativeToADirectoryDescriptor) {
  traced([this] {
    const int fd = open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(resolved(fd, "x"), (directory_ / "x").native());
    // A directory that is left out takes all below it along.
    const int proc = open("/proc/self", O_RDONLY | O_DIRECTORY);
    ASSERT_GE(proc, 0);
    EXPECT_FALSE(isRecorded(resolvePath(proc, "maps")));
    EXPECT_FALSE(isRecorded(resolvePath(999, "maps")));
  });
}

TEST_F(Paths, DefaultFiltersHold) {
  traced([] {
    EXPECT_TRUE(recorded("/data/out"));
    EXPECT_FALSE(recorded("/proc/self/maps"));
    EXPECT_FALSE(recorded("/lib/libx.so.1"));
  });
}

TEST_F(Paths, ExcludeAddsToTheDefaults) {
  traced(
      [] {
        EXPECT_FALSE(recorded("/data/run.log"));
        EXPECT_FALSE(recorded("/scratch/x"));
        EXPECT_TRUE(recorded("/data/out"));
        EXPECT_FALSE(recorded("/proc/self/maps"));
      },
      {{"OMNIO_EXCLUDE", "*.log:/scratch/*"}});
}

TEST_F(Paths, IncludeOverridesBoth) {
  traced(
      [] {
        EXPECT_TRUE(recorded("/data/keep.log"));
        EXPECT_FALSE(recorded("/data/drop.log"));
        EXPECT_TRUE(recorded("/dev/shm/x"));
        EXPECT_FALSE(recorded("/dev/null"));
      },
      {{"OMNIO_EXCLUDE", "*.log"}, {"OMNIO_INCLUDE", "keep.*:/dev/shm/*"}});
}

TEST_F(Paths, FiltersAreThoseOfTheStart) {
  traced(
      [] {
        setenv("OMNIO_EXCLUDE", "*", 1);
        clearenv();
        EXPECT_FALSE(recorded("/data/run.log"));
        EXPECT_TRUE(recorded("/data/out"));
      },
      {{"OMNIO_EXCLUDE", "*.log"}});
}

}  // namespace
}  // namespace omnio::trace
