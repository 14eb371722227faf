#include "core/wire/clock.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace omnio::wire {

constinit ClockReader clock_reader = clock_gettime;

ClockKind detectClock() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kInvariantTsc = 1U << 8;
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & kInvariantTsc) != 0) {
    return ClockKind::kTsc;
  }
  return ClockKind::kMonotonic;
#elif defined(__aarch64__)
  return ClockKind::kCntvct;
#else
  return ClockKind::kMonotonic;
#endif
}

Anchor takeAnchor(ClockKind kind) {
  constexpr int kTries = 3;
  Anchor best;
  std::uint64_t narrowest = ~0ULL;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = ticksOf(kind);
    const std::uint64_t monotonic = systemNs(CLOCK_MONOTONIC);
    const std::uint64_t after = ticksOf(kind);
    const std::uint64_t realtime = systemNs(CLOCK_REALTIME);
    if (after - before < narrowest) {
      narrowest = after - before;
      best = {.ticks = before + (after - before) / 2,
              .monotonic_ns = monotonic,
              .realtime_ns = realtime};
    }
  }
  if (kind == ClockKind::kMonotonic) best.ticks = best.monotonic_ns;
  return best;
}

}  // namespace omnio::wire
