// Filters of system calls are judged as the kernel runs them, and what they punish is not called.
#include "trace/runtime/sys/forbidden_calls.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>
#include <vector>

#include "tests/core/temporary_directory.hpp"
#include "tests/trace/traced_child.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {
namespace {

using Steps = std::vector<sock_filter>;

constexpr std::uint32_t kErrno = SECCOMP_RET_ERRNO | EPERM;

sock_filter step(int code, std::uint32_t k) {
  return BPF_STMT(static_cast<std::uint16_t>(code), k);
}
sock_filter jump(int code, std::uint32_t k, std::uint8_t yes, std::uint8_t no) {
  return BPF_JUMP(static_cast<std::uint16_t>(code), k, yes, no);
}
sock_filter loadNumber() { return step(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)); }
sock_filter loadArgument(unsigned i) {
  return step(BPF_LD | BPF_W | BPF_ABS,
              static_cast<std::uint32_t>(offsetof(seccomp_data, args) + 8 * i));
}
sock_filter answer(std::uint32_t action) { return step(BPF_RET | BPF_K, action); }

// `action` for one call, the others allowed.
Steps forOne(long number, std::uint32_t action) {
  return {loadNumber(), jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1),
          answer(action), answer(SECCOMP_RET_ALLOW)};
}

sock_fprog programOf(const Steps& steps) {
  return {.len = static_cast<unsigned short>(steps.size()),
          .filter = const_cast<sock_filter*>(steps.data())};
}

FilterVerdict judge(const Steps& steps) { return judgeFilter(programOf(steps)); }

std::vector<long> punishedBy(const FilterVerdict& verdict) {
  std::vector<long> all;
  for (long number = 0; number < kMostCalls; ++number) {
    if (verdict.punishes(number)) all.push_back(number);
  }
  return all;
}

// False where the kernel does not take it.
bool install(const Steps& steps) {
  const sock_fprog program = programOf(steps);
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(FilterVerdict, OfAFilterThatAllowsAllIsThatNothingIsPunished) {
  for (const std::uint32_t action : {SECCOMP_RET_ALLOW, SECCOMP_RET_LOG}) {
    const FilterVerdict verdict = judge({answer(action)});
    EXPECT_EQ(punishedBy(verdict), std::vector<long>());
    EXPECT_FALSE(verdict.refuses_logs);
    EXPECT_FALSE(verdict.refuses_opening);
  }
}

TEST(FilterVerdict, NamesTheOneCallThatIsNotAllowed) {
  for (const std::uint32_t action :
       {SECCOMP_RET_KILL_THREAD, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_TRAP, SECCOMP_RET_USER_NOTIF,
        kErrno, std::uint32_t{SECCOMP_RET_TRACE}, 0x12340000U}) {
    for (const long number : {long{SYS_statx}, long{SYS_ioctl}, kMostCalls - 1}) {
      const FilterVerdict verdict = judge(forOne(number, action));
      EXPECT_EQ(punishedBy(verdict), std::vector<long>{number}) << std::hex << action;
      EXPECT_FALSE(verdict.refuses_logs) << number;
    }
  }
}

TEST(FilterVerdict, OpeningFilesToWriteIsWhatLogsNeed) {
  const FilterVerdict verdict = judge(forOne(SYS_openat, kErrno));
  EXPECT_TRUE(verdict.refuses_logs);
  EXPECT_TRUE(verdict.refuses_opening);
  for (const long number : {SYS_getpid, SYS_gettid, SYS_mmap}) {
    EXPECT_TRUE(judge(forOne(number, SECCOMP_RET_KILL_PROCESS)).refuses_logs) << number;
  }
  // One of two ways to write is enough.
  EXPECT_FALSE(judge(forOne(SYS_pwritev, SECCOMP_RET_KILL_PROCESS)).refuses_logs);
  const FilterVerdict neither =
      judge({loadNumber(), jump(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwritev, 1, 0),
             jump(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 0, 1), answer(SECCOMP_RET_TRAP),
             answer(SECCOMP_RET_ALLOW)});
  EXPECT_EQ(punishedBy(neither).size(), 2U);
  EXPECT_TRUE(neither.refuses_logs);
}

// As sandboxes do that allow files to be read alone.
TEST(FilterVerdict, LooksAtTheFlagsOfAnOpen) {
  const auto with_flags = [](std::uint32_t flags, std::uint32_t action) {
    return judge({loadNumber(), jump(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3), loadArgument(2),
                  jump(BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1), answer(action),
                  answer(SECCOMP_RET_ALLOW)});
  };
  // A ptrace tracer may do all that a filter may, so handing a call to it counts as a punishment.
  for (const std::uint32_t action :
       {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_USER_NOTIF, SECCOMP_RET_TRACE}) {
    const FilterVerdict punished = with_flags(O_CREAT, action);
    EXPECT_EQ(punishedBy(punished), std::vector<long>{SYS_openat}) << std::hex << action;
    EXPECT_TRUE(punished.refuses_logs) << std::hex << action;
    EXPECT_FALSE(punished.refuses_opening) << std::hex << action;
  }
  // An error is not a punishment: the calls that are allowed go on.
  const FilterVerdict refused = with_flags(O_WRONLY | O_RDWR, kErrno);
  EXPECT_EQ(punishedBy(refused), std::vector<long>());
  EXPECT_TRUE(refused.refuses_logs);
  EXPECT_TRUE(refused.refuses_opening);
  const FilterVerdict no_matter = with_flags(O_DIRECT, SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(punishedBy(no_matter), std::vector<long>());
  EXPECT_FALSE(no_matter.refuses_logs);
}

TEST(FilterVerdict, KnowsTheArchitecture) {
#if defined(__x86_64__)
  constexpr std::uint32_t kNative = AUDIT_ARCH_X86_64;
#else
  constexpr std::uint32_t kNative = AUDIT_ARCH_AARCH64;
#endif
  for (const bool is_native : {true, false}) {
    const FilterVerdict verdict =
        judge({step(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
               jump(BPF_JMP | BPF_JEQ | BPF_K, is_native ? kNative : AUDIT_ARCH_I386, 1, 0),
               answer(SECCOMP_RET_KILL_PROCESS), answer(SECCOMP_RET_ALLOW)});
    EXPECT_EQ(punishedBy(verdict).size(), is_native ? 0U : std::size_t{kMostCalls});
  }
}

// The number of a call that no kernel has, so that filters can be about it alone.
constexpr long kUnused = kMostCalls - 2;

// Whether the kernel lets the call pass; 2 where it does not take the program, 3 otherwise.
int kernelAllows(const Steps& steps) {
  const pid_t child = fork();
  if (child == 0) {
    if (!install(steps)) _exit(2);
    const long result = syscall(kUnused, 0, 0, 0, 0, 0, 0);
    _exit(result == -1 && errno == ENOSYS ? 1 : result == -1 && errno == EPERM ? 0 : 3);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 3;
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGSYS ? 0 : 3;
  return WEXITSTATUS(status);
}

// `body`, run for kUnused alone, has to leave the same in the accumulator here and in the kernel.
void expectAsInTheKernel(const Steps& body, const std::string& what) {
  // Bit by bit would be 32 programs: whether it is one of these is seen in the answer of one.
  Steps steps{loadNumber(),
              jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(kUnused), 1, 0),
              answer(SECCOMP_RET_ALLOW)};
  steps.insert(steps.end(), body.begin(), body.end());
  const int kernel = kernelAllows(steps);
  ASSERT_LE(kernel, 1) << what << (kernel == 2 ? ": the kernel refuses the program" : "");
  EXPECT_EQ(!judge(steps).punishes(kUnused), kernel == 1) << what;
}

class FilterSteps : public testing::Test {
 protected:
  void SetUp() override {
    if (kernelAllows({answer(SECCOMP_RET_ALLOW)}) != 1) GTEST_SKIP() << "no filters here";
  }
  // Whether the steps leave `value` in the accumulator, and whether they leave another.
  static void expectValue(Steps steps, std::uint32_t value, const std::string& what) {
    for (const std::uint32_t guess : {value, value + 1}) {
      Steps body = steps;
      body.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, guess, 0, 1));
      body.push_back(answer(SECCOMP_RET_ALLOW));
      body.push_back(answer(kErrno));
      expectAsInTheKernel(body, fmt::format("{} against {:x}", what, guess));
    }
  }
};

struct Operation {
  const char* name;
  int code;
  std::uint32_t (*compute)(std::uint32_t, std::uint32_t);
};
using Word = std::uint32_t;
constexpr Operation kOperations[] = {
    {"add", BPF_ADD, [](Word a, Word b) { return a + b; }},
    {"sub", BPF_SUB, [](Word a, Word b) { return a - b; }},
    {"mul", BPF_MUL, [](Word a, Word b) { return a * b; }},
    {"div", BPF_DIV, [](Word a, Word b) { return b == 0 ? 0 : a / b; }},
    {"and", BPF_AND, [](Word a, Word b) { return a & b; }},
    {"or", BPF_OR, [](Word a, Word b) { return a | b; }},
    {"xor", BPF_XOR, [](Word a, Word b) { return a ^ b; }},
    {"lsh", BPF_LSH, [](Word a, Word b) { return a << (b & 31); }},
    {"rsh", BPF_RSH, [](Word a, Word b) { return a >> (b & 31); }},
};

TEST_F(FilterSteps, ComputeAsInTheKernel) {
  constexpr std::pair<Word, Word> kOperands[] = {
      {0x80000001, 31}, {0xFFFFFFFF, 0xFFFFFFFE}, {17, 0}, {0xF0F0F0F0, 33}};
  for (const Operation& operation : kOperations) {
    const bool is_shift = operation.code == BPF_LSH || operation.code == BPF_RSH;
    for (const auto& [a, b] : kOperands) {
      const std::string what = fmt::format("{} {:x} {:x}", operation.name, a, b);
      const Word value = operation.compute(a, b);
      const sock_filter load = step(BPF_LD | BPF_IMM, a);
      expectValue({load, step(BPF_LDX | BPF_IMM, b), step(BPF_ALU | operation.code | BPF_X, 0)},
                  value, what + " by register");
      // The kernel takes no other constants.
      if ((operation.code == BPF_DIV && b == 0) || (is_shift && b >= 32)) continue;
      expectValue({load, step(BPF_ALU | operation.code | BPF_K, b)}, value, what);
    }
  }
  expectValue({step(BPF_LD | BPF_IMM, 5), step(BPF_ALU | BPF_NEG, 0)}, Word{0} - 5, "neg");
}

TEST_F(FilterSteps, LoadAndStoreAsInTheKernel) {
  expectValue({step(BPF_LD | BPF_W | BPF_LEN, 0)}, sizeof(seccomp_data), "length");
  expectValue({step(BPF_LDX | BPF_W | BPF_LEN, 0), step(BPF_MISC | BPF_TXA, 0)},
              sizeof(seccomp_data), "length in the index");
  expectValue({step(BPF_LD | BPF_IMM, 7), step(BPF_ST, 3), step(BPF_LD | BPF_IMM, 8),
               step(BPF_LD | BPF_MEM, 3)},
              7, "memory");
  expectValue(
      {step(BPF_LD | BPF_IMM, 7), step(BPF_MISC | BPF_TAX, 0), step(BPF_STX, 15),
       step(BPF_LDX | BPF_IMM, 1), step(BPF_LDX | BPF_MEM, 15), step(BPF_MISC | BPF_TXA, 0)},
      7, "memory of the index");
  expectValue({loadNumber()}, static_cast<Word>(kUnused), "number");
  expectValue({loadArgument(5)}, 0, "last argument");
  expectAsInTheKernel({step(BPF_LD | BPF_IMM, SECCOMP_RET_ALLOW), step(BPF_RET | BPF_A, 0)},
                      "allowed by the accumulator");
  expectAsInTheKernel({step(BPF_LD | BPF_IMM, kErrno), step(BPF_RET | BPF_A, 0)},
                      "refused by the accumulator");
}

TEST_F(FilterSteps, JumpAsInTheKernel) {
  for (const int code : {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET}) {
    for (const auto& [a, b] : {std::pair<Word, Word>{5, 5}, {5, 6}, {6, 5}, {0xFFFFFFFF, 1}}) {
      for (const int source : {BPF_K, BPF_X}) {
        expectAsInTheKernel({step(BPF_LD | BPF_IMM, a), step(BPF_LDX | BPF_IMM, b),
                             jump(BPF_JMP | code | source, source == BPF_K ? b : 0, 1, 0),
                             answer(kErrno), answer(SECCOMP_RET_ALLOW)},
                            fmt::format("jump {:x} of {} and {}", code, a, b));
      }
    }
  }
  expectAsInTheKernel({step(BPF_JMP | BPF_JA, 1), answer(kErrno), answer(SECCOMP_RET_ALLOW)},
                      "jump over one");
  expectAsInTheKernel({step(BPF_JMP | BPF_JA, 0), answer(kErrno), answer(SECCOMP_RET_ALLOW)},
                      "jump over none");
}

TEST_F(FilterSteps, ThatTheKernelRefusesPunishNothing) {
  const Steps none[] = {
      {step(BPF_LD | BPF_IMM, 0)},                                        // no end
      {step(BPF_JMP | BPF_JA, 0xFFFFFFFF), answer(0)},                    // back to itself
      {step(BPF_JMP | BPF_JA, 5), answer(0)},                             // beyond the end
      {jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1), answer(0)},              // also
      {step(BPF_LD | BPF_W | BPF_ABS, sizeof(seccomp_data)), answer(0)},  // beyond the data
      {step(BPF_LD | BPF_W | BPF_ABS, 2), answer(0)},                     // between words
      {step(BPF_LD | BPF_B | BPF_ABS, 0), answer(0)},                     // of one byte
      {step(BPF_ST, BPF_MEMWORDS), answer(0)},                            // no such memory
      {step(BPF_ALU | BPF_DIV | BPF_K, 0), answer(0)},
      {step(BPF_ALU | BPF_LSH | BPF_K, 32), answer(0)},
      {step(BPF_ALU | BPF_MOD | BPF_K, 3), answer(0)},  // not in filters
      {step(0xFFFF, 0), answer(0)},
      // Steps that no call reaches.
      {answer(SECCOMP_RET_KILL_PROCESS), step(BPF_LD | BPF_W | BPF_ABS, 2), answer(0)},
      {answer(SECCOMP_RET_KILL_PROCESS), step(BPF_LD | BPF_IMM, 0)},
  };
  for (std::size_t i = 0; i < std::size(none); ++i) {
    EXPECT_EQ(kernelAllows(none[i]), 2) << i;
    const FilterVerdict verdict = judge(none[i]);
    EXPECT_EQ(punishedBy(verdict), std::vector<long>()) << i;
    EXPECT_FALSE(verdict.refuses_logs) << i;
  }
}

TEST(ForbiddenCalls, AreNotMade) {
  EXPECT_EQ(test::runInChild([] {
              EXPECT_FALSE(isForbidden(SYS_getppid));
              EXPECT_GT(rawSyscall(SYS_getppid), 0);
              apply(judge(forOne(SYS_getppid, SECCOMP_RET_KILL_PROCESS)));
              EXPECT_TRUE(isForbidden(SYS_getppid));
              EXPECT_EQ(rawSyscall(SYS_getppid), -EPERM);
              EXPECT_GT(rawSyscall(SYS_getpid), 0);
              EXPECT_FALSE(refusesLogs());
              EXPECT_FALSE(leavesTooLittle());
              forbid(SYS_mmap);
              EXPECT_TRUE(leavesTooLittle());
              for (const long number : {-1L, kMostCalls, 1L << 40}) {
                forbid(number);
                EXPECT_FALSE(isForbidden(number));
              }
            }),
            0);
}

TEST(ForbiddenCalls, AreHandedOnAsText) {
  EXPECT_EQ(test::runInChild([] {
              char text[kForbiddenText];
              EXPECT_FALSE(putForbidden(text));
              forbid(1);
              forbid(kMostCalls - 1);
              EXPECT_TRUE(putForbidden(text));
              EXPECT_EQ(std::string(text),
                        "0000000000000002" + std::string(6 * 16, '0') + "8000000000000000");
            }),
            0);
}

// Runs `body` in a child that has the filter, as a process that inherited it.
int inFilter(const Steps& steps, const std::function<void()>& body, test::Environment more = {}) {
  const test::TemporaryDirectory directory;
  return test::runTraced(
      directory / "trace",
      [&] {
        ASSERT_TRUE(install(steps));
        body();
      },
      std::move(more));
}

TEST(InheritedFilter, WhatItPunishesIsFoundOutInAnotherProcess) {
  for (const std::uint32_t action : {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD}) {
    EXPECT_EQ(inFilter(forOne(SYS_statfs, action),
                       [] {
                         tryInheritedFilter();
                         EXPECT_TRUE(isForbidden(SYS_statfs));
                         EXPECT_EQ(rawSyscall(SYS_statfs, 0, 0), -EPERM);
                         EXPECT_FALSE(isForbidden(SYS_openat));
                         EXPECT_FALSE(isForbidden(SYS_ioctl));
                         EXPECT_EQ(waitpid(-1, nullptr, __WALL), -1);
                         EXPECT_EQ(errno, ECHILD);
                       }),
              0);
  }
}

TEST(InheritedFilter, SeveralCallsAreFoundOut) {
  EXPECT_EQ(inFilter({loadNumber(), jump(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 2, 0),
                      jump(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 1, 0),
                      jump(BPF_JMP | BPF_JEQ | BPF_K, SYS_uname, 0, 1),
                      answer(SECCOMP_RET_KILL_PROCESS), answer(SECCOMP_RET_ALLOW)},
                     [] {
                       tryInheritedFilter();
                       for (const long number : {SYS_statx, SYS_ioctl, SYS_uname}) {
                         EXPECT_TRUE(isForbidden(number)) << number;
                       }
                       EXPECT_FALSE(isForbidden(SYS_statfs));
                     }),
            0);
}

TEST(InheritedFilter, ThatAnswersWithAnErrorPunishesNothing) {
  EXPECT_EQ(inFilter(forOne(SYS_statfs, kErrno),
                     [] {
                       tryInheritedFilter();
                       EXPECT_FALSE(isForbidden(SYS_statfs));
                     }),
            0);
}

TEST(InheritedFilter, WhatTheImageBeforeKnewIsTakenOver) {
  const std::string handed_on = "0000000000000002" + std::string(7 * 16, '0');
  EXPECT_EQ(inFilter({answer(SECCOMP_RET_ALLOW)},
                     [] {
                       tryInheritedFilter();
                       EXPECT_TRUE(isForbidden(1));
                       EXPECT_FALSE(isForbidden(2));
                     },
                     {{kForbiddenVariable, handed_on}}),
            0);
  // Without a filter there is nothing to take over.
  const test::TemporaryDirectory directory;
  EXPECT_EQ(test::runTraced(directory / "trace",
                            [] {
                              tryInheritedFilter();
                              EXPECT_FALSE(isForbidden(1));
                            },
                            {{kForbiddenVariable, handed_on}}),
            0);
}

}  // namespace
}  // namespace omnio::trace
