// What recording costs the application: measured in each process before its first event, so that
// readers can take it off (trap: the recorder's own cost inflates the time between calls).
#pragma once

#include <cstdint>

namespace omnio::trace {

// In picoseconds; 0 when it could not be measured.
struct EventCost {
  std::uint64_t event_ps = 0;  // all that an event adds
  std::uint64_t clock_ps = 0;  // the part of it inside the recorded duration: one clock reading
};

// Measured once, about 10 us, with everything in the caches: an application's events cost as much
// or more. A forked child has its parent's.
EventCost eventCost();

}  // namespace omnio::trace
