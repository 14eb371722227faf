#include "trace/runtime/sys/forbidden_calls.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstring>
#include <optional>
#include <string_view>

#include "core/wire/run.hpp"
#include "trace/runtime/settings.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/runtime/sys/waiting.hpp"

// Newer than the oldest headers that the tracer is built with.
#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000U
#endif
#ifndef SECCOMP_RET_USER_NOTIF
#define SECCOMP_RET_USER_NOTIF 0x7fc00000U
#endif
#ifndef SECCOMP_RET_ACTION_FULL
#define SECCOMP_RET_ACTION_FULL 0xffff0000U
#endif

namespace omnio::trace {

std::atomic<std::uint64_t> forbidden_calls[kMostCalls / 64];

namespace {

std::atomic<bool> refuses_logs{false};

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

// A call of the tracer with arguments such as it really gives where a filter could look at them,
// and otherwise such that the kernel does nothing: no descriptor, no memory, no signal.
struct Probe {
  long number;
  long arguments[6];
  bool makes_logs = false;  // without it no new container can be made
  bool opens_logs = false;  // without it a container cannot be opened again
};

constexpr long kNone = -1;  // no descriptor
constexpr Probe kProbes[] = {
    {SYS_openat, {kNone, 0, O_RDONLY | O_CLOEXEC, 0}},
    {SYS_openat, {kNone, 0, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600}, true},
    {SYS_openat, {kNone, 0, O_RDWR | O_CLOEXEC, 0}, false, true},
    {SYS_openat, {kNone, 0, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600}},
    {SYS_openat, {kNone, 0, O_PATH | O_CLOEXEC, 0}},
    {SYS_close, {kNone}},
    {SYS_read, {kNone, 0, 0}},
    {SYS_write, {kNone, 0, 0}},
    {SYS_pwrite64, {kNone, 0, 0, 0}},
    {SYS_pwritev, {kNone, 0, 0, 0}},
    {SYS_fallocate, {kNone, 0, 0, 0}},
    {SYS_linkat, {kNone, 0, kNone, 0, AT_SYMLINK_FOLLOW}},
    {SYS_symlinkat, {0, kNone, 0}},
    {SYS_renameat, {kNone, 0, kNone, 0}},
    {SYS_unlinkat, {kNone, 0, 0}},
    {SYS_fstat, {kNone, 0}},
    {SYS_newfstatat, {kNone, 0, 0, 0}},
    {SYS_statx, {kNone, 0, 0, 0, 0}},
    {SYS_statfs, {0, 0}},
    {SYS_readlinkat, {kNone, 0, 0, 0}},
    {SYS_faccessat, {kNone, 0, 0}},
    {SYS_getcwd, {0, 0}},
    {SYS_getxattr, {0, 0, 0, 0}},
    {SYS_ioctl, {kNone, 0, 0}},
    {SYS_fcntl, {kNone, F_DUPFD_CLOEXEC, 0}},
    {SYS_fcntl, {kNone, F_GETFL, 0}},
    {SYS_lseek, {kNone, 0, SEEK_CUR}},
    {SYS_fadvise64, {kNone, 0, 0, 0}},
    {SYS_sync_file_range, {kNone, 0, 0, 0}},
    {SYS_mmap, {0, 0, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, kNone, 0}},
    {SYS_mmap, {0, 0, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, kNone, 0}},
    {SYS_munmap, {0, 0}},
    {SYS_mremap, {0, 0, 0, MREMAP_MAYMOVE | MREMAP_FIXED, 0}},
    {SYS_madvise, {0, 0, 0}},
    {SYS_prlimit64, {0, RLIMIT_FSIZE, 0, 0}},
    {SYS_rt_sigprocmask, {SIG_SETMASK, 0, 0, 8}},
    {SYS_sigaltstack, {0, 0}},
    {SYS_membarrier, {kNone, 0, 0}},
    {SYS_nanosleep, {0, 0}},
    {SYS_futex, {0, 1, 0, 0, 0, 0}},  // FUTEX_WAKE of nothing
    {SYS_sched_yield, {}},
    {SYS_tgkill, {kNone, kNone, 0}},
    {SYS_getpid, {}},
    {SYS_gettid, {}},
    {SYS_getppid, {}},
    {SYS_geteuid, {}},
    {SYS_getegid, {}},
    {SYS_pread64, {kNone, 0, 0, 0}},
    {SYS_fgetxattr, {kNone, 0, 0, 0}},
    {SYS_getrandom, {0, 0, 0}},
    {SYS_uname, {0}},
    {SYS_clock_gettime, {0, 0}},
    {SYS_prctl, {kNone, 0, 0, 0, 0}},
    {SYS_prctl, {PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0}},
    {SYS_clone, {CLONE_THREAD, 0, 0, 0, 0}},  // invalid without CLONE_SIGHAND
    {SYS_wait4, {0, 0, 0x40000, 0}},          // no such option
};

using Word = std::uint32_t;

// Steps of a filter that make one number of the accumulator and an operand, which is a constant
// (BPF_K) or the index register (BPF_X). Those of class BPF_JMP say whether the jump is taken.
struct Operation {
  std::uint16_t code;
  Word (*result)(Word a, Word operand);
};
constexpr Operation kOperations[] = {
    {BPF_ALU | BPF_ADD, [](Word a, Word b) { return a + b; }},
    {BPF_ALU | BPF_SUB, [](Word a, Word b) { return a - b; }},
    {BPF_ALU | BPF_MUL, [](Word a, Word b) { return a * b; }},
    {BPF_ALU | BPF_DIV, [](Word a, Word b) { return b == 0 ? 0 : a / b; }},
    {BPF_ALU | BPF_AND, [](Word a, Word b) { return a & b; }},
    {BPF_ALU | BPF_OR, [](Word a, Word b) { return a | b; }},
    {BPF_ALU | BPF_XOR, [](Word a, Word b) { return a ^ b; }},
    // Processors, and the kernel, look at the low bits of the distance alone.
    {BPF_ALU | BPF_LSH, [](Word a, Word b) { return a << (b & 31); }},
    {BPF_ALU | BPF_RSH, [](Word a, Word b) { return a >> (b & 31); }},
    {BPF_JMP | BPF_JEQ, [](Word a, Word b) { return Word{a == b}; }},
    {BPF_JMP | BPF_JGT, [](Word a, Word b) { return Word{a > b}; }},
    {BPF_JMP | BPF_JGE, [](Word a, Word b) { return Word{a >= b}; }},
    {BPF_JMP | BPF_JSET, [](Word a, Word b) { return a & b; }},
};

// nullptr where the kernel does not take such a step.
const Operation* operationOf(const sock_filter& step) {
  const int code = step.code & ~BPF_X;
  const bool is_shift = code == (BPF_ALU | BPF_LSH) || code == (BPF_ALU | BPF_RSH);
  const bool is_division = code == (BPF_ALU | BPF_DIV);
  const bool is_constant = step.code == code;
  if (is_constant && ((is_shift && step.k >= 32) || (is_division && step.k == 0))) return nullptr;
  for (const Operation& operation : kOperations) {
    if (operation.code == code) return &operation;
  }
  return nullptr;
}

// Runs the program over one call. Returns the action, or nothing when it comes to a step that the
// kernel does not take in a filter (seccomp_check_filter() there), or to the program's end.
std::optional<Word> run(const sock_fprog& program, const seccomp_data& call) {
  Word a = 0;
  Word x = 0;
  Word memory[BPF_MEMWORDS] = {};
  for (Word at = 0; at < program.len; ++at) {
    const sock_filter& step = program.filter[at];
    const Word k = step.k;
    const Word steps_after = program.len - at - 1U;
    Word& loaded = BPF_CLASS(step.code) == BPF_LDX ? x : a;
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        if (k > sizeof call - sizeof a || (k & 3) != 0) return {};
        std::memcpy(&a, reinterpret_cast<const char*>(&call) + k, sizeof a);
        break;
      case BPF_LD | BPF_W | BPF_LEN:
      case BPF_LDX | BPF_W | BPF_LEN:
        loaded = sizeof call;
        break;
      case BPF_LD | BPF_IMM:
      case BPF_LDX | BPF_IMM:
        loaded = k;
        break;
      case BPF_LD | BPF_MEM:
      case BPF_LDX | BPF_MEM:
        if (k >= BPF_MEMWORDS) return {};
        loaded = memory[k];
        break;
      case BPF_ST:
      case BPF_STX:
        if (k >= BPF_MEMWORDS) return {};
        memory[k] = step.code == BPF_ST ? a : x;
        break;
      case BPF_MISC | BPF_TAX:
        x = a;
        break;
      case BPF_MISC | BPF_TXA:
        a = x;
        break;
      case BPF_ALU | BPF_NEG:
        a = 0U - a;
        break;
      case BPF_JMP | BPF_JA:
        if (k >= steps_after) return {};
        at += k;
        break;
      case BPF_RET | BPF_K:
        return k;
      case BPF_RET | BPF_A:
        return a;
      default:
        const Operation* const operation = operationOf(step);
        if (operation == nullptr) return {};
        if (step.code == (BPF_ALU | BPF_DIV | BPF_X) && x == 0) return SECCOMP_RET_KILL_THREAD;
        const Word result = operation->result(a, BPF_SRC(step.code) == BPF_X ? x : k);
        if (BPF_CLASS(step.code) == BPF_ALU) {
          a = result;
        } else {
          if (step.jt >= steps_after || step.jf >= steps_after) return {};
          at += result != 0 ? step.jt : step.jf;
        }
    }
  }
  return {};
}

// Whether the kernel takes the program: also with the steps that no call reaches.
bool isFilter(const sock_fprog& program) {
  for (unsigned short at = 0; at < program.len; ++at) {
    const sock_fprog rest{.len = static_cast<unsigned short>(program.len - at),
                          .filter = program.filter + at};
    if (!run(rest, {})) return false;
  }
  return program.len > 0;
}

bool isAllowed(std::uint32_t action) {
  action &= SECCOMP_RET_ACTION_FULL;
  return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

// Everything else but an error. SECCOMP_RET_TRACE is a punishment too: a ptrace tracer holds the
// thread for as long as it wants and may end it; whether there will be one is not known here.
bool isPunished(std::uint32_t action) {
  return !isAllowed(action) && (action & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ERRNO;
}

seccomp_data dataOf(long number, const long (&arguments)[6]) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  data.arch = kArchitecture;
  for (int i = 0; i < 6; ++i) data.args[i] = static_cast<std::uint64_t>(arguments[i]);
  return data;
}

// Whether the kernel says that a filter is in force: "Seccomp:\t2" in /proc/self/status. The calls
// that this takes are those by which the loader has just loaded this library.
bool hasFilter() {
  char text[4096];
  const long bytes = readFile("/proc/self/status", text, sizeof text);
  if (bytes <= 0) return false;
  const std::string_view status(text, static_cast<std::size_t>(bytes));
  constexpr std::string_view kKey = "\nSeccomp:\t";
  const std::size_t at = status.find(kKey);
  return at != std::string_view::npos && at + kKey.size() < status.size() &&
         status[at + kKey.size()] == '2';
}

constexpr std::size_t kProbeCount = sizeof kProbes / sizeof kProbes[0];

// In a child: makes the calls from `first` on, noting each before it is made. Never returns.
[[noreturn]] void tryFrom(std::size_t first, std::atomic<std::uint32_t>& at) {
  const rlimit none{};  // no core file of a process that dies on purpose
  rawSyscall(SYS_prlimit64, 0, RLIMIT_CORE, address(&none), 0);
  for (std::size_t i = first; i < kProbeCount; ++i) {
    at.store(static_cast<std::uint32_t>(i));
    const long(&a)[6] = kProbes[i].arguments;
    rawSyscall(kProbes[i].number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
  at.store(kProbeCount);
  while (true) rawSyscall(SYS_exit_group, 0);
}

template <typename IsForbidden>
bool leavesTooLittle(IsForbidden is_forbidden) {
  return is_forbidden(SYS_getpid) || is_forbidden(SYS_gettid) || is_forbidden(SYS_mmap) ||
         (is_forbidden(SYS_pwritev) && is_forbidden(SYS_pwrite64));
}

void takeHandedOn() {
  const char* given = getenv(kForbiddenVariable);
  if (given == nullptr) return;
  std::string_view text = given;
  for (auto& word : forbidden_calls) {
    std::uint64_t value = 0;
    if (text.size() < 16 || !wire::takeHexNumber(text, 16, value)) return;
    word.fetch_or(value);
  }
}

}  // namespace

void forbid(long number) {
  if (static_cast<unsigned long>(number) >= static_cast<unsigned long>(kMostCalls)) return;
  forbidden_calls[number / 64].fetch_or(std::uint64_t{1} << (number % 64));
}

FilterVerdict judgeFilter(const sock_fprog& program) {
  FilterVerdict verdict;
  if (!isFilter(program)) return verdict;
  const auto punish = [&verdict](long number) {
    verdict.punished[number / 64] |= std::uint64_t{1} << (number % 64);
  };
  constexpr long kNoArguments[6] = {};
  for (long number = 0; number < kMostCalls; ++number) {
    // A call that is answered with an error whatever its arguments are need not be tried each time,
    // and the tracer can choose another way. Calls that are judged by their arguments alone: below.
    if (!isAllowed(*run(program, dataOf(number, kNoArguments)))) punish(number);
  }
  for (const Probe& probe : kProbes) {
    const Word action = *run(program, dataOf(probe.number, probe.arguments));
    if (isPunished(action)) punish(probe.number);
    if (isAllowed(action)) continue;
    verdict.refuses_logs = verdict.refuses_logs || probe.makes_logs;
    verdict.refuses_opening = verdict.refuses_opening || probe.opens_logs;
  }
  verdict.refuses_logs = verdict.refuses_logs || leavesTooLittle([&verdict](long number) {
                           return verdict.punishes(number);
                         });
  return verdict;
}

bool leavesTooLittle() { return leavesTooLittle(isForbidden); }

void apply(const FilterVerdict& verdict) {
  for (std::size_t i = 0; i < kMostCalls / 64; ++i) {
    forbidden_calls[i].fetch_or(verdict.punished[i]);
  }
  if (verdict.refuses_logs) refuses_logs.store(true);
}

bool refusesLogs() { return refuses_logs.load(); }

bool putForbidden(char (&text)[kForbiddenText]) {
  Text out(text, sizeof text);
  std::uint64_t any = 0;
  for (const auto& word : forbidden_calls) {
    any |= word.load();
    out.putHex(word.load(), 16);
  }
  return any != 0;
}

void tryInheritedFilter() {
  static std::atomic<bool> is_done{false};
  if (is_done.exchange(true) || !isAskedFor() || !hasFilter()) return;
  takeHandedOn();
  if (isForbidden(SYS_clone) || isForbidden(SYS_wait4)) return;
  constexpr long kPage = 4096;
  void* const memory = mapAnonymous(kPage, MAP_SHARED);
  if (memory == nullptr) return;
  auto& at = *static_cast<std::atomic<std::uint32_t>*>(memory);
  const HeldSignals held;
  std::size_t first = 0;
  while (first < kProbeCount) {
    at.store(static_cast<std::uint32_t>(first));
    // No signal tells of its end, so that the application's own waiting never meets it.
    const long child = rawSyscall(SYS_clone, 0, 0, 0, 0, 0);
    if (child == 0) tryFrom(first, at);
    if (child < 0) break;
    int status = 0;
    while (rawSyscall(SYS_wait4, child, address(&status), __WALL, 0) == -EINTR) {
    }
    const std::uint32_t reached = at.load();
    if (reached >= kProbeCount || !WIFSIGNALED(status)) break;
    forbid(kProbes[reached].number);
    first = reached + 1;
  }
  unmap(memory, kPage);
}

}  // namespace omnio::trace
