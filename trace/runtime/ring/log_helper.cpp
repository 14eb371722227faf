#include "trace/runtime/ring/log_helper.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include <cstring>

#include "core/wire/clock.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/ring/ring.hpp"
#include "trace/runtime/stack/call_stack.hpp"
#include "trace/runtime/sys/own_clone.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/waiting.hpp"

namespace omnio::trace {
namespace {

enum class HelperState : std::uint32_t {
  kNone,
  kStarting,
  kRunning,
  kStopping,
  kStuck,  // it was told to stop, and has not done so in time: its device does not answer
};

constexpr long kStackBytes = 256 * 1024;
constexpr long kIdleNs = 100'000'000;
constexpr long kWaitNs = 5'000'000;

std::atomic<HelperState> helper_state{HelperState::kNone};
std::atomic<bool> is_slow{false};
std::atomic<bool> is_to_stop{false};
std::atomic<std::uint32_t> handed_over{0};  // futex of the helper
std::atomic<std::uint32_t> came_free{0};    // futex of threads that wait for a ring
long helper_tid = 0;
std::uint32_t ended = 0;  // not 0 while it lives; cleared by the kernel
bool isGone() { return std::atomic_ref<std::uint32_t>(ended).load() == 0; }
char* stack = nullptr;
thread_local constinit bool is_helper = false;

// A thread may be woken without need: whoever sleeps looks again.
void sleepOn(std::atomic<std::uint32_t>& word, std::uint32_t seen, long ns) {
  const timespec limit = {.tv_sec = 0, .tv_nsec = ns};
  if (rawSyscall(SYS_futex, address(&word), FUTEX_WAIT_PRIVATE, seen, address(&limit), 0, 0) ==
      -EPERM) {
    const timespec nap = {.tv_sec = 0, .tv_nsec = 1'000'000};
    rawSyscall(SYS_nanosleep, address(&nap), 0);
  }
}

void wakeOn(std::atomic<std::uint32_t>& word) {
  word.fetch_add(1);
  rawSyscall(SYS_futex, address(&word), FUTEX_WAKE_PRIVATE, 1 << 30, 0, 0, 0);
}

long work(void* /*nothing*/) {
  is_helper = true;
  // Where events are dropped rather than waited for, the first one did not wait for the log either.
  openContainer();
  while (!is_to_stop.load()) {
    const std::uint32_t seen = handed_over.load();
    tellModules(false);
    if (writeHandedOver()) {
      wakeOn(came_free);
    } else {
      sleepOn(handed_over, seen, kIdleNs);
    }
  }
  return 0;
}

}  // namespace

void LogHelper::noteWrite(std::uint64_t ns) {
  process.stalled_ns.fetch_add(ns, std::memory_order_relaxed);
  if (ns >= kSlowWriteNs) is_slow.store(true, std::memory_order_relaxed);
}

bool LogHelper::dropsEvents() { return process.settings.drops_when_slow; }

bool LogHelper::isWanted() {
  return (is_slow.load(std::memory_order_relaxed) || dropsEvents()) &&
         !process.draining_each.load(std::memory_order_relaxed);
}

bool LogHelper::isThisThread() { return is_helper; }

bool LogHelper::start() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;  // what sanitizers put into each access wants a thread of the C library
#endif
  if (helper_state.load(std::memory_order_acquire) == HelperState::kRunning) return true;
  // The thread begins with what is held here; and a handler that forks would find half of it.
  const HeldSignals held;
  HelperState seen = HelperState::kStuck;
  if (!isGone() || !helper_state.compare_exchange_strong(seen, HelperState::kStarting)) {
    seen = HelperState::kNone;
    if (!helper_state.compare_exchange_strong(seen, HelperState::kStarting)) {
      // Another thread starts it at this moment. Without it, this thread would write its ring
      // itself, and wait for a device that does not answer.
      waitWhile([] { return helper_state.load() == HelperState::kStarting; });
      return helper_state.load() == HelperState::kRunning;
    }
  }
  // Looked at after the state says so: whoever ends the process either finds that one is starting,
  // or has said before that none is to start.
  if (process.draining_each.load()) {
    helper_state.store(HelperState::kNone);
    return false;
  }
  if (stack == nullptr) {
    stack = static_cast<char*>(mapAnonymous(kStackBytes, MAP_PRIVATE | MAP_NORESERVE));
  }
  is_to_stop.store(false);
  ended = 1;  // not yet begun is not yet ended
  helper_tid = stack == nullptr ? -1
                                : startClone(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                                                 CLONE_THREAD | CLONE_SYSVSEM,
                                             stack, kStackBytes, work, nullptr, &ended);
  helper_state.store(helper_tid > 0 ? HelperState::kRunning : HelperState::kNone,
                     std::memory_order_release);
  return helper_tid > 0;
}

void LogHelper::stop() {
  const auto is = [](HelperState state) { return helper_state.load() == state; };
  if (is(HelperState::kNone)) return;
  const HeldSignals held;  // a handler that stops it too would wait for the thread it interrupts
  waitWhile([is] { return is(HelperState::kStarting) || is(HelperState::kStopping); });
  HelperState seen = HelperState::kRunning;
  if (!helper_state.compare_exchange_strong(seen, HelperState::kStopping)) {
    if (isGone()) {
      seen = HelperState::kStuck;
      helper_state.compare_exchange_strong(seen, HelperState::kNone);
    }
    return;
  }
  is_to_stop.store(true);
  wakeOn(handed_over);
  if (!waitWhile([] { return !isGone(); })) {
    helper_state.store(HelperState::kStuck);  // its stack is in use
    return;
  }
  // Gone from its memory, it still counts as a thread for a moment, which unshare(2) would mind.
  waitWhile([] { return rawSyscall(SYS_tgkill, process.pid, helper_tid, 0) == 0; });
  helper_state.store(HelperState::kNone, std::memory_order_release);
  wakeOn(came_free);
}

void LogHelper::forget() {
  helper_state.store(HelperState::kNone);
  is_to_stop.store(false);
  stack = nullptr;  // it may be the parent's thread's at this moment: a page or two are left
}

void LogHelper::wake() { wakeOn(handed_over); }

void LogHelper::awaitRing() { sleepOn(came_free, came_free.load(), kWaitNs); }

}  // namespace omnio::trace
