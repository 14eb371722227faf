// The threads of a process: when each was created, and when one was joined. Their notes are kept in
// memory and written many at a time, so that a thread costs no system call on the file system of
// the trace.
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstring>

#include "core/wire/notes.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/wrap/children.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/next_image.hpp"
#include "trace/wrap/real_symbol.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {
namespace {

// A line that waits to be written. A handler or another thread takes another slot. The state has
// the process in its upper half: to a forked child, its parent's lines are unused slots. (Were they
// cleared by the thread that notes something first, lines of the others could go with them.)
struct Slot {
  enum State : std::uint32_t { kUnused, kFilling, kFilled, kTaken };
  static constexpr std::uint64_t word(std::uint32_t pid, State state) {
    return static_cast<std::uint64_t>(pid) << 32 | state;
  }
  std::atomic<std::uint64_t> state{0};
  std::uint32_t bytes = 0;
  char line[wire::kMaxChildNote];
};
constexpr std::size_t kSlots = 256;
Slot slots[kSlots];
std::atomic<std::uint32_t> next_slot{0};
std::atomic<std::uint32_t> slots_pid{0};  // the process that has noted something last

constinit LazySymbol<decltype(::pthread_create), threadSymbol> real_create("pthread_create");
constinit LazySymbol<decltype(::pthread_join), threadSymbol> real_join("pthread_join");
constinit LazySymbol<int(pthread_t, void**), threadSymbol> real_tryjoin("pthread_tryjoin_np");
constinit LazySymbol<int(pthread_t, void**, const timespec*), threadSymbol> real_timedjoin(
    "pthread_timedjoin_np");
constinit LazySymbol<int(pthread_t, void**, clockid_t, const timespec*)> real_clockjoin(
    "pthread_clockjoin_np");

void writeFilled(std::uint32_t pid) {
  char text[16 * wire::kMaxChildNote];
  std::size_t used = 0;
  for (Slot& slot : slots) {
    std::uint64_t state = Slot::word(pid, Slot::kFilled);
    if (!slot.state.compare_exchange_strong(state, Slot::word(pid, Slot::kTaken),
                                            std::memory_order_acquire)) {
      continue;
    }
    if (used + slot.bytes > sizeof text) {
      appendToTrace(wire::kProcessesSuffix, text, used);
      used = 0;
    }
    std::memcpy(text + used, slot.line, slot.bytes);
    used += slot.bytes;
    slot.state.store(Slot::word(pid, Slot::kUnused), std::memory_order_release);
  }
  if (used > 0) appendToTrace(wire::kProcessesSuffix, text, used);
}

bool keep(std::uint32_t pid, const char* line, std::size_t bytes) {
  Slot& slot = slots[next_slot.fetch_add(1, std::memory_order_relaxed) % kSlots];
  std::uint64_t state = slot.state.load(std::memory_order_relaxed);
  const bool is_unused = state >> 32 != pid || state == Slot::word(pid, Slot::kUnused);
  if (!is_unused || !slot.state.compare_exchange_strong(state, Slot::word(pid, Slot::kFilling),
                                                        std::memory_order_acquire)) {
    return false;
  }
  std::memcpy(slot.line, line, bytes);
  slot.bytes = static_cast<std::uint32_t>(bytes);
  slot.state.store(Slot::word(pid, Slot::kFilled), std::memory_order_release);
  return true;
}

void putNote(wire::ChildNote kind, std::uint32_t pid, std::uint32_t tid, std::uint64_t handle,
             std::uint64_t begin_ns) {
  slots_pid.store(pid, std::memory_order_relaxed);
  char line[wire::kMaxChildNote];
  const std::size_t bytes = putChildNote(line, kind, pid, tid, handle, begin_ns);
  if (keep(pid, line, bytes)) return;
  writeFilled(pid);
  if (!keep(pid, line, bytes)) appendToTrace(wire::kProcessesSuffix, line, bytes);
}

thread_local constinit bool has_named_itself = false;

// A thread says which one it is before it has an event, or does anything with other threads.
void nameItself(std::uint32_t pid, std::uint32_t tid, std::uint64_t begin_ns) {
  if (has_named_itself || pid == tid) return;
  has_named_itself = true;
  putNote(wire::ChildNote::kSelf, pid, tid, static_cast<std::uint64_t>(pthread_self()), begin_ns);
}

// Whether notes are written; `begin_ns` is what noteTime() said.
bool isNoting(std::uint64_t begin_ns) { return begin_ns != 0 && isActive() && !isVforkChild(); }

void noteEvents() {
  const std::uint64_t now = noteTime();
  if (!isNoting(now)) return;
  nameItself(static_cast<std::uint32_t>(rawSyscall(SYS_getpid)),
             static_cast<std::uint32_t>(rawSyscall(SYS_gettid)), now);
}

// The calling thread did `kind` with the thread of that handle since `begin_ns`.
void noteThread(wire::ChildNote kind, std::uint64_t handle, std::uint64_t begin_ns) {
  if (!isNoting(begin_ns)) return;
  const auto pid = static_cast<std::uint32_t>(rawSyscall(SYS_getpid));
  const auto tid = static_cast<std::uint32_t>(rawSyscall(SYS_gettid));
  nameItself(pid, tid, begin_ns);
  putNote(kind, pid, tid, handle, begin_ns);
}

__attribute__((constructor)) void atLoadOfThreads() {
  real_create.get();
  real_join.get();
  process.on_thread = noteEvents;
}

template <typename Real, typename... A>
int joinBy(Real* real, pthread_t joined, A... a) {
  if (real == nullptr) return ENOSYS;
  const std::uint64_t begin_ns = noteTime();
  leaveThinking(thread);
  const int result = real(joined, a...);
  if (result == 0) {
    const int error = errno;
    noteThread(wire::ChildNote::kJoin, static_cast<std::uint64_t>(joined), begin_ns);
    errno = error;
  }
  return result;
}

}  // namespace

void writeThreadNotes() {
  // A process under a strict filter makes no call here.
  if (!mayNote() || slots_pid.load() == 0) return;
  const auto pid = static_cast<std::uint32_t>(rawSyscall(SYS_getpid));
  if (slots_pid.load() == pid) writeFilled(pid);
}

}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_EXPORT int pthread_create(pthread_t* created, const pthread_attr_t* attributes,
                                void* (*start)(void*), void* argument) noexcept {
  auto* const real = real_create.get();
  if (real == nullptr) return EAGAIN;
  process.has_threads.store(true, std::memory_order_relaxed);
  const std::uint64_t begin_ns = noteTime();
  const int result = real(created, attributes, start, argument);
  if (result == 0 && begin_ns != 0) {
    const int error = errno;
    // The new thread may have freed it already.
    if (isReadableMemory(created, sizeof *created)) {
      noteThread(omnio::wire::ChildNote::kCreate, static_cast<std::uint64_t>(*created), begin_ns);
    }
    errno = error;
  }
  return result;
}
OMNIO_EXPORT int pthread_join(pthread_t joined, void** result) {
  return joinBy(real_join.get(), joined, result);
}
OMNIO_EXPORT int pthread_tryjoin_np(pthread_t joined, void** result) noexcept {
  return joinBy(real_tryjoin.get(), joined, result);
}
OMNIO_EXPORT int pthread_timedjoin_np(pthread_t joined, void** result, const timespec* until) {
  return joinBy(real_timedjoin.get(), joined, result, until);
}
OMNIO_EXPORT int pthread_clockjoin_np(pthread_t joined, void** result, clockid_t clock,
                                      const timespec* until) {
  return joinBy(real_clockjoin.get(), joined, result, clock, until);
}
