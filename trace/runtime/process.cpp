#include "trace/runtime/process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <cstring>

#include "core/wire/checksum.hpp"
#include "core/wire/info.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/moved_bytes.hpp"
#include "trace/runtime/prefetch_start.hpp"
#include "trace/runtime/recording_switch.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/ring/log_helper.hpp"
#include "trace/runtime/ring/ring.hpp"
#include "trace/runtime/ring/ring_memory.hpp"
#include "trace/runtime/stack/call_stack.hpp"
#include "trace/runtime/sys/forbidden_calls.hpp"
#include "trace/runtime/sys/own_clone.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/resource_limits.hpp"
#include "trace/runtime/sys/system_clock.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/runtime/sys/waiting.hpp"

// In every C library's static part: handlers that come with this object go when it goes.
extern "C" int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(),
                                 void* object);
extern "C" void* __dso_handle;

// The process in which one of the tracers records. Exported, so that all tracers of a process share
// it: a program that is linked with a tracer may have another one preloaded, each call passes
// through both, and one of them has to be passive. A number, since a child that was forked in the
// middle of the start starts anew.
extern "C" [[gnu::visibility("default")]] std::atomic<std::uint32_t> omnio_traced_process;
std::atomic<std::uint32_t> omnio_traced_process{0};

namespace omnio::trace {

constinit Process process;
thread_local constinit Thread thread;

namespace {

std::uint64_t randomToken() {
  std::uint64_t token = 0;
  if (rawSyscall(SYS_getrandom, address(&token), sizeof token, 0) !=
          static_cast<long>(sizeof token) ||
      token == 0) {
    token = wire::systemNs(CLOCK_REALTIME) * wire::kGoldenStep ^ process.pid;
  }
  return token;
}

void beginImage(bool stopped, bool is_forked) {
  process.pid = static_cast<std::uint32_t>(rawSyscall(SYS_getpid));
  process.parent_pid = static_cast<std::uint32_t>(rawSyscall(SYS_getppid));
  process.token = randomToken();
  process.begin = wire::takeAnchor(process.clock);
  process.events_written.store(0);
  process.events_lost.store(0);
  process.stalled_ns.store(0);
  process.error.store(0);
  process.next_log.store(0);
  process.next_thread.store(0);
  process.account_state.store(wire::AccountState::kRunning);
  process.draining_each.store(false);
  beginStops(stopped);
  beginMovedBytes(is_forked);
  // Last: from here on, other threads take the process for one that has begun.
  process.epoch_page->store(++process.image << 32 | (stopped ? kStoppedBit : 0));
}

bool makeEpochPage() {
  constexpr long kPage = 4096;
  void* const memory = mapAnonymous(kPage);
  if (memory == nullptr) return false;
  process.epoch_page = static_cast<std::atomic<std::uint64_t>*>(memory);
  rawSyscall(SYS_madvise, address(memory), kPage,
             MADV_WIPEONFORK);  // older kernels: the handler does it
  return true;
}

Mode start() {
  if (!isAskedFor()) return Mode::kPassive;
  char program[4096];
  const long bytes = rawSyscall(SYS_readlinkat, AT_FDCWD, address("/proc/self/exe"),
                                address(program), sizeof program - 1);
  program[bytes > 0 ? bytes : 0] = '\0';
  if (isUntracedProgram(program)) {
    prepareLauncher(program);
    return Mode::kPassive;
  }
  if (leavesTooLittle()) return Mode::kPassive;
  const auto pid = static_cast<std::uint32_t>(rawSyscall(SYS_getpid));
  if (omnio_traced_process.exchange(pid) == pid) return Mode::kPassive;
  if (!makeEpochPage()) return Mode::kPassive;
  readSettings(process.settings);
  makePrefetchDirectory();
  beginStacks();
  identifyRun();
  rememberLauncher();
  useKernelClocks();
  process.clock = process.settings.system_clock ? wire::ClockKind::kMonotonic : chooseClock();
  chooseRingPlace();
  startPrefetchHelper();
  beginImage(process.settings.starts_stopped, false);
  listenForToggle();
  rawSyscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  return Mode::kActive;
}

std::atomic<std::uint32_t> starter{0};  // tid of the thread that starts the tracer

void beforeFork();
void onForkInChild();

}  // namespace

bool ensureStarted() {
  if (process.mode.load(std::memory_order_acquire) != Mode::kUnknown) return isActive();
  tryInheritedFilter();  // before any call that it could punish
  const auto tid = static_cast<std::uint32_t>(rawSyscall(SYS_gettid));
  Patience patience;
  for (std::uint32_t other = 0; !starter.compare_exchange_strong(other, tid); other = 0) {
    // A signal handler in the middle of the start goes untraced; another thread waits, it is short.
    if (other == tid) return false;
    const bool is_gone = rawSyscall(SYS_tgkill, rawSyscall(SYS_getpid), other, 0) == -ESRCH;
    if (process.mode.load(std::memory_order_acquire) != Mode::kUnknown) return isActive();
    // In a forked child the starter was its parent's.
    if (is_gone && starter.compare_exchange_strong(other, tid)) break;
    if (!patience.wait()) return false;  // it was stopped where it is
  }
  const Mode mode = start();
  // First, so that no fork passes between: the handler does nothing until the tracer is active.
  if (mode == Mode::kActive) __register_atfork(beforeFork, nullptr, onForkInChild, __dso_handle);
  process.mode.store(mode, std::memory_order_release);
  return mode == Mode::kActive;
}

namespace {

// In the epoch's page, so that a child begins with kUnclaimed: which of its threads makes it a
// process of its own. Several may have their first event at the same moment when no handler of
// fork has run.
enum Claim : std::uint64_t { kUnclaimed, kClaimed, kDone };
std::atomic<std::uint64_t>& claimOfChild() { return process.epoch_page[1]; }

// In ticks of the clock that /proc/<pid>/stat has.
std::uint64_t startTick() { return wire::systemNs(CLOCK_BOOTTIME) / 10'000'000U; }

// Of this process, once they are known; and the tick before the last fork of it or of an ancestor.
std::atomic<std::uint64_t> known_start{0};
std::atomic<std::uint32_t> known_start_pid{0};
std::atomic<std::uint64_t> tick_before_fork{0};

void beforeFork() {
  tick_before_fork.store(startTick());
  // A thread of ours could hold what the child needs.
  LogHelper::stop();
}

// A child whose fork began and ended in one tick has started in that tick. To read it from /proc
// takes ten times as long.
void knowStart() {
  const std::uint64_t tick = startTick();
  if (tick_before_fork.load() != tick) return;
  known_start.store(tick);
  known_start_pid.store(process.pid, std::memory_order_release);
}

}  // namespace

void becomeForkedChild(bool is_plain) {
  const HeldSignals held;  // a handler would find half of the parent and half of the child
  std::uint64_t claim = kUnclaimed;
  if (!claimOfChild().compare_exchange_strong(claim, kClaimed)) {
    waitWhile([] { return claimOfChild().load() == kClaimed; });
    return;
  }
  SpareDescriptors::restoreInChild();
  process.parent_token = process.token;
  const bool stopped = !isRecording();
  LogHelper::forget();
  forgetContainer(true);
  forgetRings();
  forgetStacks(thread.level > 0);
  process.is_plain_fork = is_plain && !process.has_own_namespaces.load();
  beginImage(stopped, true);
  if (process.is_plain_fork) knowStart();
  claimOfChild().store(kDone);
}

namespace {

void onForkInChild() {
  if (process.mode.load() != Mode::kActive) return;
  const auto pid = static_cast<std::uint32_t>(rawSyscall(SYS_getpid));
  if (pid == process.pid) return;
  claimOfChild().store(kUnclaimed);  // kernels before 4.14 do not clear the page
  becomeForkedChild(true);
}

}  // namespace

std::uint64_t processStart() {
  if (known_start_pid.load(std::memory_order_acquire) == process.pid) return known_start.load();
  char text[512];
  const auto read = [&text]() -> long {
    char path[64] = "/proc/self/stat";
    // The child that lends its descriptors is another process.
    if (isInOwnTable()) {
      Text(path, sizeof path).put("/proc/").putNumber(process.pid).put("/stat");
    }
    return readFile(path, text, sizeof text);
  };
  const long bytes = withDescriptor(read);
  if (bytes <= 0) return 0;
  long i = bytes;
  while (i > 0 && text[i - 1] != ')') --i;  // the name may hold anything
  std::uint64_t value = 0;
  for (int field = 2; i < bytes; ++i) {
    if (text[i] == ' ') {
      if (++field > 22) break;
      value = 0;
    } else if (field == 22) {
      value = value * 10 + static_cast<std::uint64_t>(text[i] - '0');
    }
  }
  known_start.store(value);
  known_start_pid.store(process.pid, std::memory_order_release);
  return value;
}

bool isVforkChild() {
  if (!thread.vforked) return false;
  const auto pid = static_cast<std::uint32_t>(rawSyscall(SYS_getpid));
  if (pid != process.pid) return true;
  thread.vforked = false;
  return false;
}

namespace {

// With a usual log it is some microseconds in each MiB, and not worth a chunk.
void tellStalledTime() {
  constexpr std::uint64_t kWorthTelling = 1'000'000;
  const std::uint64_t stalled = process.stalled_ns.load();
  if (stalled < kWorthTelling || !hasContainer()) return;
  appendFact(wire::info::kStalled, stalled);
}

}  // namespace

void finish(wire::AccountState state) {
  if (process.mode.load() != Mode::kActive || isVforkChild()) return;
  noticeFork();
  process.account_state.store(state);
  process.draining_each.store(true);
  LogHelper::stop();
  // Other threads see the flag after their next event at the latest: the barrier puts it between
  // the event's store and the look at the flag on every processor, so no event falls between.
  if (ringCount() > 1 && rawSyscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
    // Older kernels and sandboxes: longer than any processor keeps a store to itself.
    const timespec nap = {.tv_sec = 0, .tv_nsec = 200000};
    rawSyscall(SYS_nanosleep, address(&nap), 0);
  }
  if (ringCount() == 0 && !hasContainer()) {
    // A rank reports itself even when it did nothing; other silent processes leave no file, and a
    // rank's children are not the rank.
    const bool is_rank =
        (strcmp(launcherIdentity().source, "none") != 0 || mpi_identity.known.load()) &&
        process.parent_token == 0;
    const bool is_told = (is_rank && state != wire::AccountState::kReplaced) || hasMovedUnseen();
    if (!is_told || !openContainer()) return;
  }
  finishStops();
  tellStalledTime();
  tellModules(true);
  tellLostStacks(true);
  bool all = writeOutAll();
  // Behind what was just written, which a parent that waits for this process takes over.
  if (hasContainer()) tellMovedBytes();
  // Events that find no room in a log of limited size are meant to be dropped, and must not be
  // collected.
  all = all || process.error.load() == wire::kLogLimitError;
  all = writeAccount() && all;
  Ring* note = all ? nullptr : firstRingFile();
  if (note != nullptr) {
    note->header.note = currentAccount();
    note->header.has_note = true;
  } else {
    finishLostNote(all);
  }
  unlinkRings(note != nullptr);
}

namespace {

// Where to come back to when recording goes on after all.
wire::ClockKind clock_before_end = wire::ClockKind::kMonotonic;

}  // namespace

void endRecording(const char* why) {
  if (process.mode.load() != Mode::kActive || isVforkChild()) return;
  noticeFork();
  if (openContainer()) appendFact(wire::info::kRecordingEnded, why);
  finish(wire::AccountState::kEnded);
  // Each record goes the slow way from now on, and finds nothing there.
  process.epoch_page->fetch_or(kStoppedBit);
  clock_before_end = process.clock;
  process.clock = wire::ClockKind::kNone;
  process.mode.store(Mode::kPassive, std::memory_order_release);
}

void continueRecording() {
  if (process.clock != wire::ClockKind::kNone) return;
  process.clock = clock_before_end;
  process.mode.store(Mode::kActive, std::memory_order_release);
  if (isRecording()) process.epoch_page->fetch_and(~kStoppedBit);
  appendFact(wire::info::kRecordingEnded, "");
  resume();
}

void resume() {
  if (process.mode.load() != Mode::kActive || isVforkChild()) return;
  if (Ring* note = firstRingFile(); note != nullptr) note->header.has_note = false;
  process.account_state.store(wire::AccountState::kRunning);
  process.draining_each.store(false);
  // The rings have lost their names: each thread gives its own a new one with its next event.
  process.epoch_page->fetch_add(1);
  writeAccount();
}

}  // namespace omnio::trace
