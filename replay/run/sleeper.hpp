// Waiting for a point in time: asleep, or on a busy processor. Times are ns of CLOCK_MONOTONIC.
// Nothing here fails.
#pragma once
#include <cstdint>

namespace omnio::replay {

// A sleep overshoots by up to 0.1 ms.
inline constexpr std::int64_t kSpinNs = 100000;

// Waits for points in time, for one thread. Spins for the last bit of each wait: for 0.1 ms where
// each thread has a processor of its own. Elsewhere a spin takes it from the file system, so that
// the thread wakes up earlier only by as much as its sleeps overshoot on average.
class Sleeper {
 public:
  // CLOCK_MONOTONIC, absolute.
  void sleepUntil(std::int64_t at_ns, bool may_spin);

 private:
  std::int64_t overshoot_ns_ = kSpinNs / 2;
};
// One step of a busy loop.
void pauseBriefly();
// Without sleeping at all.
void spinUntil(std::int64_t at_ns);
// Asks the kernel not to put off this thread's timers.
void makeTimersSharp();

}  // namespace omnio::replay
