// The clock of records: ticks of the processor's invariant counter where there is one, else
// nanoseconds of CLOCK_MONOTONIC. Anchors tie ticks to both system clocks; readers interpolate
// between them, so that no frequency needs to be known while recording.
#pragma once

#include <time.h>

#include <cstdint>

namespace omnio::wire {

enum class ClockKind : std::uint32_t {
  kNone = 0,       // in the tracer alone: no clock may be read any more
  kMonotonic = 1,  // a tick is a nanosecond of CLOCK_MONOTONIC
  kTsc = 2,        // x86: time stamp counter, constant and non-stop
  kCntvct = 3,     // aarch64: generic timer
};

struct Anchor {
  std::uint64_t ticks = 0;
  std::uint64_t monotonic_ns = 0;
  std::uint64_t realtime_ns = 0;
};

// How the system's clocks are read; the tracer has a way of its own
// (trace/runtime/sys/system_clock.hpp).
using ClockReader = int (*)(clockid_t, timespec*);
extern ClockReader clock_reader;

inline std::uint64_t systemNs(clockid_t id) {
  timespec now{};
  clock_reader(id, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t counterTicks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return systemNs(CLOCK_MONOTONIC);
#endif
}

inline std::uint64_t ticksOf(ClockKind kind) {
  if (kind == ClockKind::kNone) return 0;
  return kind == ClockKind::kMonotonic ? systemNs(CLOCK_MONOTONIC) : counterTicks();
}

// Finds out which clock this processor offers. Costs a few instructions; no file is read.
ClockKind detectClock();

// A reading of all three clocks, the tightest of a few tries (about 100 ns apart at most).
Anchor takeAnchor(ClockKind kind);

}  // namespace omnio::wire
