#include "trace/wrap/think_sample.hpp"

#include <sys/syscall.h>

#include <ctime>

#include "core/wire/clock.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/wrap/intercept.hpp"

namespace omnio::trace {
namespace {

constexpr std::uint64_t kBetweenNs = 1'000'000;  // on average; a look takes two system calls
constexpr std::uint64_t kLeastNs = 20'000;       // a look itself takes a part of less
// A thread may have one long pause among many short ones. Where so many in a row were too short,
// the next look comes later.
constexpr unsigned kMostTries = 8;

std::uint64_t ticksIn(std::uint64_t ns) {
  const wire::Anchor now = wire::takeAnchor(process.clock);
  const auto elapsed_ns = static_cast<double>(now.monotonic_ns - process.begin.monotonic_ns);
  if (elapsed_ns <= 0) return 0;
  const auto elapsed = static_cast<double>(now.ticks - process.begin.ticks);
  return static_cast<std::uint64_t>(static_cast<double>(ns) * elapsed / elapsed_ns);
}

// Any number below `end`: a program whose pauses follow a pattern shall not have the same ones of
// them looked at again and again.
std::uint64_t anyOf(std::uint64_t seed, std::uint64_t end) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;  // Fibonacci hashing
  return end == 0 ? 0 : (seed * kOdd >> 20) % end;
}

// How long the calling thread could have run and had no processor, since it was made: the second
// number of its schedstat (the kernel's Documentation/scheduler/sched-stats.rst). 0 where that is
// not known.
std::uint64_t waitedForProcessorNs() {
  char text[80];
  const long bytes = readFile("/proc/thread-self/schedstat", text, sizeof text - 1);
  if (bytes <= 0) return 0;
  std::uint64_t number = 0;
  bool is_second = false;
  for (long i = 0; i < bytes; ++i) {
    if (text[i] >= '0' && text[i] <= '9') {
      number = number * 10 + static_cast<std::uint64_t>(text[i] - '0');
    } else {
      if (is_second) return number;
      is_second = true;
      number = 0;
    }
  }
  return 0;
}

// Before the first call of a thread. Where its maker kept the processor, or others did, it began
// late, and would not elsewhere.
std::uint64_t beginFirstCall(Thread& self) {
  self.think.begin = 0;
  const std::uint64_t now = ticks();
  // A process's first thread was made with it.
  if (self.level != 0 || self.vforked || self.epoch != kNoEpoch || !isActive() ||
      rawSyscall(SYS_gettid) == rawSyscall(SYS_getpid)) {
    return now;
  }
  self.own_work = ticksIn(waitedForProcessorNs());
  const std::uint64_t after = ticks();
  self.own_work += after - now;
  return after;
}

}  // namespace

std::uint64_t threadCpuNs() {
  timespec used{};
  if (rawSyscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, address(&used)) != 0) return 0;
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(used.tv_nsec);
}

void beginThinkSample(Thread& self) {
  // A signal handler's events have a ring of their own, and the calls of a library are not its
  // user's thinking.
  if (self.level != 0 || self.in_mpi || self.depth != 0 || self.vforked) return;
  const std::uint64_t look = ticks();
  self.think.begin_cpu = threadCpuNs();
  // A thread whose time slice is over loses its processor in this call, for milliseconds where
  // there are more threads than processors. It does not think meanwhile.
  noteOwnWork(self, look);
  self.think.begin = ticks();
  self.think.due = ~std::uint64_t{0};
}

std::uint64_t endThinkSample(Thread& self) {
  ThinkSample& think = self.think;
  // A filter of system calls may be the reason why nothing is recorded any more.
  if (process.mode.load(std::memory_order_acquire) == Mode::kPassive) {
    think.begin = 0;
    return ticks();
  }
  if (think.begin == ThinkSample::kNewThread) return beginFirstCall(self);
  const std::uint64_t now = ticks();
  if (self.level != 0) return now;
  const std::uint64_t begin = think.begin;
  const std::uint64_t cpu = threadCpuNs();
  think.begin = 0;
  const std::uint64_t between = ticksIn(kBetweenNs);
  const std::uint64_t least = between / (kBetweenNs / kLeastNs);
  const bool is_long = now >= begin + least;
  think.too_short = is_long ? 0 : think.too_short + 1;
  if (is_long || think.too_short >= kMostTries) {
    think.too_short = 0;
    think.due = now + between / 2 + anyOf(now, between);
  } else {
    think.due = 0;
  }
  // A forked child has its parent's state, and CPU time of its own.
  if (is_long && cpu >= think.begin_cpu) {
    think.ticks += now - begin;
    think.cpu_ns += cpu - think.begin_cpu;
  }
  // A thread whose time slice is over loses its processor at its next system call, which is this
  // sample's. Untraced, it would be the call's own, so that time belongs to the call.
  const std::uint64_t after = ticks();
  return after - now < least ? after : now;
}

}  // namespace omnio::trace
