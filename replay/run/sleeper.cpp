#include "replay/run/sleeper.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "replay/issue/backend.hpp"

namespace omnio::replay {

void Sleeper::sleepUntil(std::int64_t at_ns, bool may_spin) {
  constexpr std::int64_t kSecond = 1000000000;
  constexpr std::int64_t kMemory = 8;  // sleeps that the average is about
  const std::int64_t wake = at_ns - (may_spin ? kSpinNs : overshoot_ns_);
  if (nowNs() < wake) {
    const timespec until{.tv_sec = wake / kSecond, .tv_nsec = wake % kSecond};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
    const std::int64_t overshoot_ns = std::clamp<std::int64_t>(nowNs() - wake, 0, kSpinNs);
    overshoot_ns_ += (overshoot_ns - overshoot_ns_) / kMemory;
  }
  // Not computing: whoever has work may have the processor.
  yieldUntil(at_ns);
}

void Sleeper::yieldUntil(std::int64_t at_ns) {
  // A thread that yields may get its processor back milliseconds later. The application keeps its
  // processor when it computes for a microsecond between two calls.
  constexpr std::int64_t kYieldNs = 4000;
  while (nowNs() < at_ns - kYieldNs) sched_yield();
  spinUntil(at_ns);
}

void Sleeper::passUntil(std::int64_t at_ns, bool may_spin, double busy) {
  const auto busy_ns = static_cast<std::int64_t>(static_cast<double>(at_ns - nowNs()) * busy);
  // sleepUntil() spins for as long anyway.
  if (busy_ns <= (may_spin ? kSpinNs : 0)) return sleepUntil(at_ns, may_spin);
  if (busy < 1) sleepUntil(at_ns - busy_ns, may_spin);
  spinUntil(at_ns);
}

void pauseBriefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void spinUntil(std::int64_t at_ns) {
  while (nowNs() < at_ns) pauseBriefly();
}

void makeTimersSharp() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

}  // namespace omnio::replay
