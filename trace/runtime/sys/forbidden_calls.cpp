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

// What a filter computes with.
struct Machine {
  std::uint32_t a = 0;
  std::uint32_t x = 0;
  std::uint32_t memory[BPF_MEMWORDS] = {};
  std::uint32_t skipped = 0;  // steps that the last one jumps over
};

// After one step: the next one, the end with the action in `a`; or it was none that the kernel
// takes in a filter (seccomp_check_filter() there).
enum class Next { kStep, kReturn, kNoStep };

Next compute(const sock_filter& step, std::uint32_t operand, Machine& m) {
  const bool has_constant = BPF_SRC(step.code) == BPF_K;
  switch (BPF_OP(step.code)) {
    case BPF_ADD:
      m.a += operand;
      return Next::kStep;
    case BPF_SUB:
      m.a -= operand;
      return Next::kStep;
    case BPF_MUL:
      m.a *= operand;
      return Next::kStep;
    case BPF_DIV:
      if (operand == 0) {
        m.a = SECCOMP_RET_KILL_THREAD;
        return has_constant ? Next::kNoStep : Next::kReturn;
      }
      m.a /= operand;
      return Next::kStep;
    case BPF_AND:
      m.a &= operand;
      return Next::kStep;
    case BPF_OR:
      m.a |= operand;
      return Next::kStep;
    case BPF_XOR:
      m.a ^= operand;
      return Next::kStep;
    case BPF_LSH:
    case BPF_RSH:
      if (has_constant && operand >= 32) return Next::kNoStep;
      operand &= 31;  // as processors do, and the kernel
      m.a = BPF_OP(step.code) == BPF_LSH ? m.a << operand : m.a >> operand;
      return Next::kStep;
    default:
      return Next::kNoStep;
  }
}

Next compare(const sock_filter& step, std::uint32_t operand, Machine& m) {
  bool is_taken = false;
  switch (BPF_OP(step.code)) {
    case BPF_JEQ:
      is_taken = m.a == operand;
      break;
    case BPF_JGT:
      is_taken = m.a > operand;
      break;
    case BPF_JGE:
      is_taken = m.a >= operand;
      break;
    case BPF_JSET:
      is_taken = (m.a & operand) != 0;
      break;
    default:
      return Next::kNoStep;
  }
  m.skipped = is_taken ? step.jt : step.jf;
  return Next::kStep;
}

Next makeStep(const sock_filter& step, const seccomp_data& data, Machine& m) {
  const std::uint32_t k = step.k;
  std::uint32_t& loaded = BPF_CLASS(step.code) == BPF_LDX ? m.x : m.a;
  m.skipped = 0;
  switch (step.code) {
    case BPF_LD | BPF_W | BPF_ABS:
      if (k > sizeof data - sizeof k || (k & 3) != 0) return Next::kNoStep;
      std::memcpy(&m.a, reinterpret_cast<const char*>(&data) + k, sizeof m.a);
      return Next::kStep;
    case BPF_LD | BPF_W | BPF_LEN:
    case BPF_LDX | BPF_W | BPF_LEN:
      loaded = sizeof data;
      return Next::kStep;
    case BPF_LD | BPF_IMM:
    case BPF_LDX | BPF_IMM:
      loaded = k;
      return Next::kStep;
    case BPF_LD | BPF_MEM:
    case BPF_LDX | BPF_MEM:
      if (k >= BPF_MEMWORDS) return Next::kNoStep;
      loaded = m.memory[k];
      return Next::kStep;
    case BPF_ST:
    case BPF_STX:
      if (k >= BPF_MEMWORDS) return Next::kNoStep;
      m.memory[k] = step.code == BPF_ST ? m.a : m.x;
      return Next::kStep;
    case BPF_MISC | BPF_TAX:
      m.x = m.a;
      return Next::kStep;
    case BPF_MISC | BPF_TXA:
      m.a = m.x;
      return Next::kStep;
    case BPF_ALU | BPF_NEG:
      m.a = 0U - m.a;
      return Next::kStep;
    case BPF_JMP | BPF_JA:
      m.skipped = k;
      return Next::kStep;
    case BPF_RET | BPF_K:
      m.a = k;
      return Next::kReturn;
    case BPF_RET | BPF_A:
      return Next::kReturn;
    default:
      break;
  }
  const std::uint32_t operand = BPF_SRC(step.code) == BPF_X ? m.x : k;
  const auto rest =
      static_cast<std::uint16_t>(step.code & ~(BPF_SRC(step.code) | BPF_OP(step.code)));
  if (rest == BPF_ALU) return compute(step, operand, m);
  if (rest == BPF_JMP) return compare(step, operand, m);
  return Next::kNoStep;
}

// Whether the kernel takes the program as a filter: each of its steps, no jump behind its end (nor
// backwards: there is none), and a return at the end.
bool isFilter(const sock_fprog& program) {
  for (std::uint32_t at = 0; at < program.len; ++at) {
    const sock_filter& step = program.filter[at];
    const std::uint32_t steps_after = program.len - at - 1U;
    Machine any{.x = 1};
    if (makeStep(step, {}, any) == Next::kNoStep) return false;
    const bool is_jump = BPF_CLASS(step.code) == BPF_JMP;
    const bool is_always = BPF_OP(step.code) == BPF_JA;
    if (is_jump && is_always && step.k >= steps_after) return false;
    if (is_jump && !is_always && (step.jt >= steps_after || step.jf >= steps_after)) return false;
  }
  return program.len > 0 && BPF_CLASS(program.filter[program.len - 1].code) == BPF_RET;
}

// One run of the program, which isFilter(), over one call; the action it returns.
std::uint32_t run(const sock_fprog& program, const seccomp_data& data) {
  Machine machine;
  for (std::uint32_t at = 0; at < program.len; at += 1 + machine.skipped) {
    if (makeStep(program.filter[at], data, machine) == Next::kReturn) return machine.a;
  }
  return SECCOMP_RET_KILL_THREAD;
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
    if (!isAllowed(run(program, dataOf(number, kNoArguments)))) punish(number);
  }
  for (const Probe& probe : kProbes) {
    const std::uint32_t action = run(program, dataOf(probe.number, probe.arguments));
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
