#include "trace/runtime/ring/log_helper.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/trace/started_fixture.hpp"

namespace omnio::trace {
namespace {

using LogHelperTest = test::StartedFixture;

std::vector<long> otherThreads() {
  std::vector<long> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const long tid = std::stol(entry.path().filename().string());
    if (tid != syscall(SYS_gettid)) threads.push_back(tid);
  }
  return threads;
}

// Stops a thread of this process, as a debugger does, until it is told to let it go on.
class Debugger {
 public:
  explicit Debugger(long tid) {
    EXPECT_EQ(pipe(ready_), 0);
    EXPECT_EQ(pipe(end_), 0);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    // By the system call: a handler of fork would end the helper.
    pid_ = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (pid_ == 0) {
      const bool is_stopped = ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) == 0 &&
                              ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) == 0 &&
                              waitpid(static_cast<pid_t>(tid), nullptr, __WALL) == tid;
      char byte = is_stopped ? 1 : 0;
      if (write(ready_[1], &byte, 1) == 1 && read(end_[0], &byte, 1) == 1) {
        ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
      }
      syscall(SYS_exit_group, 0);
    }
    char byte = 0;
    has_stopped_ = read(ready_[0], &byte, 1) == 1 && byte == 1;
  }
  Debugger(const Debugger&) = delete;
  Debugger& operator=(const Debugger&) = delete;

  bool hasStopped() const { return has_stopped_; }
  void letGo() {
    const char byte = 1;
    EXPECT_EQ(write(end_[1], &byte, 1), 1);
    EXPECT_EQ(waitpid(pid_, nullptr, 0), pid_);
  }

 private:
  int ready_[2] = {};
  int end_[2] = {};
  pid_t pid_ = -1;
  bool has_stopped_ = false;
};

TEST_F(LogHelperTest, IsStartedAgainWhenOneThatDidNotStopInTimeIsGone) {
  traced([] {
    if (!LogHelper::start()) GTEST_SKIP() << "no helper runs under a sanitizer";
    const std::vector<long> threads = otherThreads();
    ASSERT_EQ(threads.size(), 1U);
    Debugger debugger(threads[0]);
    if (!debugger.hasStopped()) {
      debugger.letGo();
      GTEST_SKIP() << "this process may not be debugged";
    }
    LogHelper::stop();  // it does not come, and is not waited for any longer
    EXPECT_FALSE(LogHelper::start());
    LogHelper::stop();
    EXPECT_EQ(otherThreads(), threads);
    debugger.letGo();
    while (!otherThreads().empty()) std::this_thread::yield();
    EXPECT_TRUE(LogHelper::start());
    EXPECT_EQ(otherThreads().size(), 1U);
    const auto before = std::chrono::steady_clock::now();
    LogHelper::stop();
    // On a busy machine, too, it is waited for until it has ended, or for as long as Patience has.
    EXPECT_TRUE(otherThreads().empty() ||
                std::chrono::steady_clock::now() - before >= std::chrono::seconds(5));
    while (!otherThreads().empty()) std::this_thread::yield();
  });
}

TEST_F(LogHelperTest, IsNotStartedWhenTheProcessEnds) {
  traced([] {
    process.draining_each.store(true);
    EXPECT_FALSE(LogHelper::start());
    EXPECT_TRUE(otherThreads().empty());
    process.draining_each.store(false);
    if (!LogHelper::start()) GTEST_SKIP() << "no helper runs under a sanitizer";
    LogHelper::stop();
  });
}

}  // namespace
}  // namespace omnio::trace
