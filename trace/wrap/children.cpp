#include "trace/wrap/children.hpp"

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>
#include <optional>

#include "trace/runtime/moved_bytes.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/ring/ring.hpp"
#include "trace/runtime/sys/forbidden_calls.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/wrap/next_image.hpp"
#include "trace/wrap/real_symbol.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {
namespace {

// Found when the library is loaded: a signal handler may fork, and may not look symbols up.
#define OMNIO_CHILD_CALLS(CALL) \
  CALL(wait) CALL(waitpid) CALL(waitid) CALL(wait3) CALL(wait4) CALL(fork)
struct ChildCalls {
#define OMNIO_CHILD_CALL(NAME) decltype(&::NAME) NAME;
  OMNIO_CHILD_CALLS(OMNIO_CHILD_CALL)
#undef OMNIO_CHILD_CALL
} child_calls;

// The process as it was seen to begin: another pid is that of a child of vfork.
std::atomic<std::uint32_t> seen_pid{0};
// Since when this process has asked for an ended child and found none; 0: it has not asked. A shell
// that waits asks, sleeps until a signal comes, and asks again.
std::atomic<std::uint64_t> asked_ns{0};

std::uint32_t ownPid() { return static_cast<std::uint32_t>(rawSyscall(SYS_getpid)); }

void lookUpChildCalls() {
  if (child_calls.fork != nullptr) return;  // the last one
#define OMNIO_CHILD_CALL(NAME) \
  child_calls.NAME = reinterpret_cast<decltype(&::NAME)>(nextSymbol(#NAME));
  OMNIO_CHILD_CALLS(OMNIO_CHILD_CALL)
#undef OMNIO_CHILD_CALL
}

__attribute__((constructor)) void atLoadOfChildren() { lookUpChildCalls(); }

std::uint64_t clockNs() {
  timespec now{};
  rawSyscall(SYS_clock_gettime, CLOCK_MONOTONIC, address(&now));
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::size_t putLine(char (&line)[wire::kMaxChildNote], wire::ChildNote kind,
                    std::initializer_list<std::uint64_t> numbers) {
  Text text(line, sizeof line);
  text.put(wire::describe(kind));
  for (const std::uint64_t number : numbers) text.putByte(' ').putNumber(number);
  return text.putByte('\n').size();
}

void noteLine(wire::ChildNote kind, std::initializer_list<std::uint64_t> numbers) {
  char line[wire::kMaxChildNote];
  appendToTrace(wire::kProcessesSuffix, line, putLine(line, kind, numbers));
}

// What the kernel has added to this process's bytes, since it has waited for a child.
void noteMoved(ReapedBytes& reaped, std::uint32_t child, int signal) {
  const wire::MovedBytes moved = reaped.take();
  if (moved.read < wire::kWorthNoting && moved.written < wire::kWorthNoting) return;
  char line[wire::kMaxChildNote];
  Text text(line, sizeof line);
  text.put(wire::kMovedWord);
  for (const std::uint64_t number : {std::uint64_t{ownPid()}, std::uint64_t{child}, moved.read,
                                     moved.written, static_cast<std::uint64_t>(signal)}) {
    text.putByte(' ').putNumber(number);
  }
  appendToTrace(wire::kProcessesSuffix, line, text.putByte('\n').size());
}

// What a wait has returned. `is_end`: the child has ended, and was not merely stopped; `signal`:
// that ended it, or 0.
void noteWaited(long got, bool is_end, int signal, int error, std::uint64_t begin_ns,
                ReapedBytes* reaped) {
  if (begin_ns == 0) return;
  if (got > 0 && is_end && reaped != nullptr) {
    noteMoved(*reaped, static_cast<std::uint32_t>(got), signal);
  }
  if (got == 0 || (got < 0 && error == EINTR)) {
    std::uint64_t none = 0;
    asked_ns.compare_exchange_strong(none, begin_ns);
    return;
  }
  if (got > 0 && !is_end) return;
  const std::uint64_t asked = asked_ns.exchange(0);
  if (got <= 0) return;
  if (asked != 0 && asked < begin_ns) begin_ns = asked;
  noteChild(wire::ChildNote::kWait, static_cast<std::uint32_t>(got), begin_ns);
}

// A wait that tells the child's end by a status, also where the application does not ask for it.
template <typename Real>
pid_t waitFor(int* status, Real real) {
  lookUpChildCalls();
  int own = 0;
  if (status == nullptr) status = &own;
  const std::uint64_t begin_ns = noteTime();
  std::optional<ReapedBytes> reaped;
  if (begin_ns != 0 && !isVforkChild()) reaped.emplace();
  const pid_t got = real(status);
  const int error = errno;
  noteWaited(got, got > 0 && (WIFEXITED(*status) || WIFSIGNALED(*status)),
             got > 0 && WIFSIGNALED(*status) ? WTERMSIG(*status) : 0, error, begin_ns,
             reaped ? &*reaped : nullptr);
  errno = error;
  return got;
}

}  // namespace

bool mayNote() { return isPartOfTrace() && !isForbidden(SYS_getpid) && !isForbidden(SYS_gettid); }

void beginChildNotes() {
  if (mayNote()) seen_pid.store(ownPid(), std::memory_order_relaxed);
}

std::uint64_t noteTime() { return mayNote() ? clockNs() : 0; }

void noteChild(wire::ChildNote kind, std::uint32_t child, std::uint64_t begin_ns) {
  if (begin_ns == 0) return;
  if (kind == wire::ChildNote::kFork) {
    countChild();
    asked_ns.store(0);  // it went on with other work
  }
  noteLine(kind, {ownPid(), static_cast<std::uint32_t>(rawSyscall(SYS_getppid)),
                  static_cast<std::uint32_t>(rawSyscall(SYS_gettid)), child, begin_ns, clockNs()});
}

std::size_t putChildNote(char (&line)[wire::kMaxChildNote], wire::ChildNote kind, std::uint32_t pid,
                         std::uint32_t tid, std::uint64_t object, std::uint64_t begin_ns) {
  return putLine(line, kind, {pid, 0, tid, object, begin_ns, clockNs()});
}

void noteQuietEnd() {
  // The log tells more, and so do events that wait for their log in rings.
  if (!mayNote() || hasContainer() || ringCount() > 0 || isVforkChild()) return;
  // Whoever waits for it notes what it moved with its children.
  wire::MovedBytes in_all;
  const wire::MovedBytes moved = ownKernelBytes(in_all);
  if (in_all.read < wire::kWorthNoting && in_all.written < wire::kWorthNoting) return;
  char line[wire::kMaxChildNote];
  Text text(line, sizeof line);
  text.put(wire::kQuietWord).putByte(' ').putNumber(ownPid());
  text.putByte(' ').putNumber(moved.read).putByte(' ').putNumber(moved.written);
  text.put(process.mode.load() == Mode::kActive ? " 1\n" : " 0\n");
  appendToTrace(wire::kProcessesSuffix, line, text.size());
}

void noteUnseenStart() {
  const std::uint32_t seen = seen_pid.load(std::memory_order_relaxed);
  if (seen == 0 || !mayNote()) return;
  const std::uint32_t own = ownPid();
  if (seen == own) return;
  const std::uint64_t now = clockNs();
  // The memory may be the parent's: nothing is kept.
  noteLine(wire::ChildNote::kExec,
           {static_cast<std::uint32_t>(rawSyscall(SYS_getppid)), 0, 0, own, now, now});
}

}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_EXPORT pid_t fork() noexcept {
  lookUpChildCalls();
  const std::uint64_t begin_ns = noteTime();
  const pid_t child = child_calls.fork();
  const int error = errno;
  if (child == 0) {
    seen_pid.store(ownPid(), std::memory_order_relaxed);
    asked_ns.store(0);
    forgetChildren();
  } else if (child > 0) {
    noteChild(omnio::wire::ChildNote::kFork, static_cast<std::uint32_t>(child), begin_ns);
  }
  errno = error;
  return child;
}

OMNIO_EXPORT pid_t wait(int* status) {
  return waitFor(status, [](int* to) { return child_calls.wait(to); });
}
OMNIO_EXPORT pid_t waitpid(pid_t pid, int* status, int options) {
  return waitFor(status, [=](int* to) { return child_calls.waitpid(pid, to, options); });
}
OMNIO_EXPORT pid_t wait3(int* status, int options, rusage* usage) noexcept {
  return waitFor(status, [=](int* to) { return child_calls.wait3(to, options, usage); });
}
OMNIO_EXPORT pid_t wait4(pid_t pid, int* status, int options, rusage* usage) noexcept {
  return waitFor(status, [=](int* to) { return child_calls.wait4(pid, to, options, usage); });
}
OMNIO_EXPORT int waitid(idtype_t kind, id_t id, siginfo_t* facts, int options) {
  lookUpChildCalls();
  siginfo_t own{};
  siginfo_t* const used = facts == nullptr ? &own : facts;
  const std::uint64_t begin_ns = noteTime();
  std::optional<ReapedBytes> reaped;
  if (begin_ns != 0 && (options & WNOWAIT) == 0 && !isVforkChild()) reaped.emplace();
  const int result = child_calls.waitid(kind, id, used, options);
  const int error = errno;
  // Without a child it succeeds too, and then says that its number is 0.
  const long got = result < 0 ? -1 : used->si_pid;
  const bool is_end = got > 0 && (used->si_code == CLD_EXITED || used->si_code == CLD_KILLED ||
                                  used->si_code == CLD_DUMPED);
  const int signal = is_end && used->si_code != CLD_EXITED ? used->si_status : 0;
  noteWaited(got, is_end, signal, error, begin_ns, reaped ? &*reaped : nullptr);
  errno = error;
  return result;
}
