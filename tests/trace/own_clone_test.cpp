#include "trace/runtime/sys/own_clone.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "tests/core/temporary_directory.hpp"
#include "tests/trace/traced_child.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {
namespace {

// Opens files until no number is left; returns those that it opened.
std::vector<int> useUpDescriptors(const char* path) {
  rlimit limit{};
  EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = 40;
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  std::vector<int> opened;
  for (int fd; (fd = ::open(path, O_RDONLY | O_CLOEXEC)) >= 0;) opened.push_back(fd);
  EXPECT_EQ(errno, EMFILE);
  return opened;
}

TEST(OwnTable, OpensAFileWhereNoDescriptorIsLeft) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "file";
  test::writeAll(path, "");
  EXPECT_EQ(test::runInChild([&path] {
              const std::vector<int> opened = useUpDescriptors(path.c_str());
              ASSERT_FALSE(opened.empty());
              long first = -1;
              const auto write_twice = [&path, &first] {
                // Two at once, and memory of the process.
                first = rawSyscall(SYS_openat, AT_FDCWD, address(path.c_str()), O_WRONLY);
                const long second =
                    rawSyscall(SYS_openat, AT_FDCWD, address(path.c_str()), O_WRONLY);
                if (first < 0 || second < 0) return first < 0 ? first : second;
                return rawSyscall(SYS_write, second, address("text"), 4);
              };
              EXPECT_EQ(write_twice(), -EMFILE);
              EXPECT_EQ(inOwnTable(write_twice), 4);
              EXPECT_GE(first, 0);
              EXPECT_FALSE(isInOwnTable());
              // The process has what it had.
              for (const int fd : opened) EXPECT_NE(fcntl(fd, F_GETFD), -1) << fd;
              for (const int fd : {0, 1, 2}) EXPECT_NE(fcntl(fd, F_GETFD), -1) << fd;
              EXPECT_EQ(::open(path.c_str(), O_RDONLY), -1);
              EXPECT_EQ(errno, EMFILE);
            }),
            0);
  EXPECT_EQ(test::readAll(path), "text");
}

TEST(OwnTable, LeavesNoChildAndNoSignal) {
  EXPECT_EQ(test::runInChild([] {
              static int signals = 0;
              signal(SIGCHLD, [](int) { ++signals; });
              long pid_inside = 0;
              EXPECT_EQ(inOwnTable([&pid_inside] {
                          pid_inside = rawSyscall(SYS_getpid);
                          return isInOwnTable() ? 17L : 0L;
                        }),
                        17);
              EXPECT_GT(pid_inside, 0);
              EXPECT_NE(pid_inside, getpid());
              EXPECT_EQ(signals, 0);
              EXPECT_EQ(waitpid(-1, nullptr, __WALL), -1);
              EXPECT_EQ(errno, ECHILD);
              sigset_t mask;
              sigprocmask(SIG_SETMASK, nullptr, &mask);
              EXPECT_EQ(sigismember(&mask, SIGUSR1), 0);
            }),
            0);
}

TEST(OwnTable, IsNotMadeWithinOne) {
  EXPECT_EQ(inOwnTable([] { return inOwnTable([] { return 1L; }); }), -EMFILE);
  EXPECT_EQ(inOwnTable([] { return -5L; }), -5);
}

TEST(OwnTable, IsRefusedWhereNoChildMayBeMade) {
  EXPECT_EQ(test::runInChild([] {
              forbid(SYS_clone);
              EXPECT_EQ(inOwnTable([] { return 1L; }), -EPERM);
              EXPECT_FALSE(isInOwnTable());
            }),
            0);
}

}  // namespace
}  // namespace omnio::trace
