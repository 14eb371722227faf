// Whether a thread computes or sleeps between its calls: a replay is to do the same. Asking for its
// CPU time takes a system call, so only a small part of these times is looked at: one a ms on
// average, from the end of an event to the beginning of the thread's next call that is an event.
#pragma once

#include "trace/runtime/process.hpp"

namespace omnio::trace {

void beginThinkSample(Thread& self);
// Returns the tick at which the thread's call begins.
std::uint64_t endThinkSample(Thread& self);

// Right before a call that will be an event. Returns the tick at which the call begins.
inline std::uint64_t leaveThinking(Thread& self) {
  if (self.think.begin != 0) [[unlikely]] {
    return endThinkSample(self);
  }
  return ticks();
}

// Right behind the record of an event that ended at that tick.
inline void startThinking(Thread& self, std::uint64_t end) {
  if (end >= self.think.due) [[unlikely]] {
    beginThinkSample(self);
  }
}

// CPU time of the calling thread; 0 when the system does not tell.
std::uint64_t threadCpuNs();

}  // namespace omnio::trace
