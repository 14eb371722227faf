// Waiting for a point in time: asleep, or on a busy processor. Times are ns of CLOCK_MONOTONIC.
// Nothing here fails.
#pragma once
#include <cstdint>

#include "core/base/json_reader.hpp"

namespace omnio::replay {

// How think time passes.
enum class Compute : std::uint8_t {
  kAuto,  // as in the recording, where each thread has a processor; else asleep
  kSleep,
  kSpin,  // keeps a processor busy
};
inline constexpr base::Word<Compute> kComputes[] = {
    {Compute::kAuto, "auto"}, {Compute::kSleep, "sleep"}, {Compute::kSpin, "spin"}};

// A sleep overshoots by up to 0.1 ms.
inline constexpr std::int64_t kSpinNs = 100000;

// Waits for points in time, for one thread. Spins for the last bit of each wait: for 0.1 ms where
// each thread has a processor of its own, and leaves it meanwhile to whoever has work (the file
// system), but for the last 4 us. Elsewhere the thread wakes up earlier only by as much as its
// sleeps overshoot on average.
class Sleeper {
 public:
  // CLOCK_MONOTONIC, absolute.
  void sleepUntil(std::int64_t at_ns, bool may_spin);
  // On a processor that whoever has work may have, but for the last 4 us.
  static void yieldUntil(std::int64_t at_ns);
  // Asleep at first, then on a busy processor for that part of the time that is left (0 to 1).
  void passUntil(std::int64_t at_ns, bool may_spin, double busy);

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
