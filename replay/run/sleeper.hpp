// Waiting for a point in time: a sleep overshoots by some 0.1 ms, so the last bit is spent
// spinning, but only where each thread has a processor of its own: else a spin takes it from the
// file system.
#pragma once

#include <cstdint>

namespace omnio::replay {

inline constexpr std::int64_t kSpinNs = 100000;

// CLOCK_MONOTONIC, absolute.
void sleepUntil(std::int64_t at_ns, bool may_spin);
// Asks the kernel not to put off this thread's timers.
void makeTimersSharp();

}  // namespace omnio::replay
