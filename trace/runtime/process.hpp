// The tracer's state in a process and in each of its threads, and the life of both: start, fork,
// exec, end. Nothing here allocates, locks or uses the C++ library; system calls go through
// raw_syscall.hpp, so that errno stays the application's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/wire/clock.hpp"
#include "core/wire/container.hpp"
#include "trace/runtime/ring/ring.hpp"
#include "trace/runtime/settings.hpp"
#include "trace/runtime/stack/frame_walk.hpp"

namespace omnio::trace {

enum class Mode : std::uint8_t {
  kUnknown,  // nothing has run yet: a constructor of another library came first
  kPassive,  // no trace asked for, or a program that is not traced (a shell, a launcher)
  kActive,
};

struct Process {
  std::atomic<Mode> mode{Mode::kUnknown};
  // From the end of the process on, events are drained one by one: nothing would do it later.
  std::atomic<bool> draining_each{false};
  wire::ClockKind clock = wire::ClockKind::kMonotonic;
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::uint64_t token = 0;
  std::uint64_t parent_token = 0;  // of the traced process this one was forked from, or 0
  // By fork() itself, and no process before it has taken namespaces of its own: what its parent
  // knows of the node and the program holds for it too.
  bool is_plain_fork = false;
  std::atomic<bool> has_own_namespaces{false};
  wire::Anchor begin;

  // A thread compares it with the epoch that it began in. The upper half is the number of the image
  // (imageOf): rings and threads of another one are not this process's. The lower half counts
  // failed execs, after which rings need names again. The page is one that the kernel clears in a
  // child (MADV_WIPEONFORK), so that a fork that runs no handler (clone, _Fork) is noticed too.
  std::atomic<std::uint64_t>* epoch_page = nullptr;
  std::uint64_t image = 0;

  std::atomic<std::uint32_t> next_log{0};
  std::atomic<std::uint32_t> next_thread{0};
  std::atomic<bool> has_threads{false};  // it has made one
  // It has mapped a file, or begun an asynchronous operation: at a sudden end, these may have done
  // what no event tells of.
  std::atomic<bool> works_unseen{false};
  std::atomic<std::uint64_t> events_written{0};
  std::atomic<std::uint64_t> events_lost{0};
  std::atomic<std::uint64_t> stalled_ns{0};  // that application threads waited for the log
  std::atomic<std::uint32_t> error{0};       // errno of the last write to the container that failed
  std::atomic<wire::AccountState> account_state{wire::AccountState::kRunning};

  // Called in each thread that gets its first log; may be in a signal handler.
  void (*on_thread)() = nullptr;

  Settings settings;
};

extern Process process;

constexpr std::uint64_t imageOf(std::uint64_t epoch) { return epoch >> 32; }
// In the lower half: nothing is recorded (recording_switch.hpp). No thread's epoch ever has it, so
// that each of its records goes the slow way meanwhile.
inline constexpr std::uint64_t kStoppedBit = std::uint64_t{1} << 31;
inline bool isStoppedEpoch() {
  return (process.epoch_page->load(std::memory_order_relaxed) & kStoppedBit) != 0;
}

// Events of a signal handler that interrupts the recording of another go into a lane of their own.
inline constexpr unsigned kLanes = 2;

struct Lane {
  Ring* ring = nullptr;
  std::uint32_t log = 0;
  std::uint32_t sequence = 0;  // of the next chunk
  std::uint64_t events = 0;    // recorded in all chunks so far, and dropped ones
};

// Tests and probes of one thread that found nothing, one after the other, with no event between.
struct Polling {
  std::uint64_t start = 0;                // of the first, in ticks; 0: there was none
  std::uint64_t first_end = 0;            // ticks
  std::uint64_t inside = 0;               // ticks spent in those behind it
  std::uint64_t count = 0;                // of all
  std::uint64_t events = 0;               // what the thread had recorded by then
  std::uint64_t wall_ns = 0, cpu_ns = 0;  // of the thread, behind the first
};

// What a library saw of a file while it opened it for the application (MPI-IO): asking the storage
// once more would take time of the application's.
struct LibraryOpen {
  int fds[4] = {-1, -1, -1, -1};  // the last that it opened
  unsigned opened = 0;
  std::uint64_t path_sum = 0;  // of the path that it gave to statfs; 0: none
  long kind = 0;               // as statfs gives them
  long block_bytes = 0;
};

// FNV-1a; never 0.
inline std::uint64_t pathSum(const char* path) {
  std::uint64_t sum = 14695981039346656037U;
  for (; *path != 0; ++path) sum = (sum ^ static_cast<unsigned char>(*path)) * 1099511628211U;
  return sum | 1;
}

// Now and then a thread's time between two events is looked at: did it compute? In ticks of the
// events' clock and ns of the thread's CPU time (wrap/think_sample.hpp).
struct ThinkSample {
  static constexpr std::uint64_t kNewThread = ~std::uint64_t{0};
  std::uint64_t due = 0;             // the first event that ends then or later begins the next one
  std::uint64_t begin = kNewThread;  // of the open one; 0: none is open
  std::uint64_t begin_cpu = 0;
  std::uint64_t ticks = 0;  // of what was looked at; the next event brings it
  std::uint64_t cpu_ns = 0;
  unsigned too_short = 0;  // in a row
};

inline constexpr std::uint64_t kNoEpoch = ~std::uint64_t{0};  // of a thread without events

struct Thread {
  std::uint64_t epoch = kNoEpoch;
  // How deep this thread is inside the tracer; above 0 only when a signal handler interrupts it.
  std::uint32_t level = 0;
  // The stack pointers of the functions that are inside it: of those that a jump out of a handler
  // leaves, the records are given up (wrap/jumps.cpp).
  std::uintptr_t frames[kLanes] = {};
  // Set by vfork until this thread is seen to be the parent again.
  bool vforked = false;
  // How many layers that do I/O on the application's behalf (MPI-IO) are on the stack.
  std::uint8_t depth = 0;
  // Inside an MPI call other than I/O: what the library calls is its own business.
  bool in_mpi = false;
  // The stack pointer of the outermost MPI call that this thread is in: what a jump or an exception
  // out of it leaves behind is noticed by it (wrap/mpi/library.hpp).
  std::uintptr_t mpi_frame = 0;
  std::uintptr_t mpi_base = 0;  // while that is not 0: its frame pointer, or 0
  std::uint64_t mpi_calls = 0;  // that it has entered
  Polling polling;
  // The first look at an asynchronous operation, inside of an MPI call, that found it under way:
  // when it began, the number of that MPI call, and the thread's events until then.
  struct AsyncWait {
    std::uint64_t start = 0;
    std::uint64_t mpi_call = 0;
    std::uint64_t events = 0;
  } async_wait;
  LibraryOpen library_open;
  std::uint64_t waits = 0;  // recorded calls by which it waits for other threads (wrap/waits.hpp)
  // Ticks that the recorder worked since the last event, as far as they were noted, and the end of
  // that (noteOwnWork). Before the first event of a thread that another one has made: ticks that it
  // waited for a processor.
  std::uint64_t own_work = 0;
  std::uint64_t own_work_until = 0;
  ThinkSample think;
  // Where call stacks are walked: what is known of the thread's stack, whether it is the one that
  // the process began with, and how many events were far outside of that; of another one, whether
  // all of it is known.
  StackBounds stack;
  bool is_first = false;
  bool is_whole_stack = false;
  std::uint32_t outside_stack = 0;
  const void* last_lock = nullptr;  // the mutex that it locked last
  // Room for the path of its working directory, where it has one of its own (unshare).
  char* own_directory = nullptr;
  std::uint16_t own_directory_bytes = 0;  // as read last
  bool keeps_own_directory = false;       // what was read last is meant
  std::uint32_t tid = 0;
  std::uint32_t number = 0;
  Lane lanes[kLanes];
};

extern thread_local constinit Thread thread;

// Whether the thread has recorded something in this process. A forked child has its parent's state,
// but not its rings: it may look into none before its own first event.
inline bool hasRecorded(const Thread& self) {
  return self.lanes[0].ring != nullptr &&
         self.epoch == process.epoch_page->load(std::memory_order_relaxed);
}
// For who reads the ring when the process was killed (wire::CallState): the thread enters a call
// that will be an event, or is out of it. One store. In a handler, nothing is noted of the call
// that it makes: the call that it interrupts is what counts.
inline void noteCall(Thread& self, wire::CallState state) {
  Ring* const ring = self.lanes[0].ring;
  if (self.level == 0 && hasRecorded(self)) {
    ring->header.call_state.store(state, std::memory_order_release);
  }
}

// Events of the thread so far, those of its signal handlers left out.
inline std::uint64_t eventsOf(const Thread& self) {
  const Ring* const ring = self.lanes[0].ring;
  return self.lanes[0].events + (hasRecorded(self) ? ring->events : 0);
}

// Where the calling function's frame ends: tells which frames a jump leaves behind.
[[gnu::always_inline]] inline std::uintptr_t stackPointer() {
  std::uintptr_t value;
#if defined(__x86_64__)
  asm volatile("mov %%rsp, %0" : "=r"(value));
#elif defined(__aarch64__)
  asm volatile("mov %0, sp" : "=r"(value));
#endif
  return value;
}

[[gnu::always_inline]] inline std::uint64_t ticks() {
  return process.clock == wire::ClockKind::kTsc ? wire::counterTicks()
                                                : wire::ticksOf(process.clock);
}

// Makes the process ready when it is not: reads the settings, starts the clock. Safe to call from
// anywhere, at any time; done by the first traced call or the constructor, whichever is first.
bool ensureStarted();

inline bool isActive() {
  // Acquire: who finds it active uses what another thread has prepared meanwhile.
  const Mode mode = process.mode.load(std::memory_order_acquire);
  return mode == Mode::kActive || (mode == Mode::kUnknown && ensureStarted());
}

// Whether this is the child of a vfork, which borrows the parent's memory: it must not be changed.
// Clears the mark when this is the parent again.
bool isVforkChild();

// Start time of this process in clock ticks since boot: field 22 of /proc/self/stat. With the pid
// it names a process that no later one can be mistaken for.
std::uint64_t processStart();

// The child of a fork is a process of its own: its log, its rings, its account begin here. Its
// descriptors, and what is known of them, are its parent's. Of several threads that come here at
// once, one does it and the others wait.
void becomeForkedChild(bool is_plain = false);
inline void noticeFork() {
  if (process.epoch_page->load(std::memory_order_acquire) == 0) [[unlikely]]
    becomeForkedChild();
}

// Writes all that was recorded, of all threads, and the account. Events that come later are
// drained at once. Called at the end of the process and before exec.
void finish(wire::AccountState state);
// exec failed: record as before.
void resume();

// Recording ends before the process does, since it is about to lose what recording needs: all that
// was recorded is written, and the trace says why it ends there. Neither a clock is read nor a
// system call made from then on.
void endRecording(const char* why);
// Records as before, since the call that would have made recording impossible has failed.
void continueRecording();

// Whether the current image is one that is not traced: shells and launchers.
bool isUntracedProgram(const char* path);

// Defined in launcher_image.cpp. Called in programs that are not traced; does nothing unless this
// is a launcher of MPI's.
//
// In MPICH's mpiexec, which does not name its job, it sets a variable that does.
//
// In Open MPI's mpirun it sees to it that ranks on other nodes, which do not inherit mpirun's
// environment, are traced as well. It names the tracer's variables to it in mca_base_env_list, or
// with -x where the user's own command has an -x, since Open MPI refuses to take both. For the
// latter it starts the program anew.
void prepareLauncher(const char* program);

// The cost of recording for the application. It is measured in each process before its first event,
// so that readers can take it off (trap: the recorder's own cost inflates the time between calls).
// In picoseconds; 0 when it could not be measured.
struct EventCost {
  std::uint64_t event_ps = 0;  // all that an event adds
  std::uint64_t clock_ps = 0;  // the part of it inside the recorded duration: one clock reading
};

// Measured once, about 10 us, with everything in the caches: an application's events cost as much
// or more. A forked child has its parent's.
EventCost eventCost();

}  // namespace omnio::trace
