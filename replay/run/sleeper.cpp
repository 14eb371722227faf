#include "replay/run/sleeper.hpp"

#include <sys/prctl.h>
#include <time.h>

#include <cerrno>

#include "replay/issue/backend.hpp"

namespace omnio::replay {

void sleepUntil(std::int64_t at_ns, bool may_spin) {
  const std::int64_t wake = may_spin ? at_ns - kSpinNs : at_ns;
  if (nowNs() < wake) {
    constexpr std::int64_t kSecond = 1000000000;
    const timespec until{.tv_sec = wake / kSecond, .tv_nsec = wake % kSecond};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
  }
  while (may_spin && nowNs() < at_ns) {
  }
}

void makeTimersSharp() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

}  // namespace omnio::replay
