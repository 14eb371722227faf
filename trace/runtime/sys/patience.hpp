// Waiting for another thread that is inside the tracer: it writes a ring out, or creates the
// container. Rare, short, and never for ever: a thread may have been stopped where it is by a
// debugger or a garbage collector, which must not stop this one too.
#pragma once

#include <time.h>

#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {

class Patience {
 public:
  // Lets others run for a moment. False when it has been long enough.
  bool wait() {
    constexpr int kYields = 100;
    constexpr int kNaps = 20000;
    constexpr long kNapNs = 250000;  // 5 s in all
    if (++waits_ <= kYields) {
      rawSyscall(SYS_sched_yield);
      return true;
    }
    const timespec nap = {.tv_sec = 0, .tv_nsec = kNapNs};
    rawSyscall(SYS_nanosleep, address(&nap), 0);
    return waits_ < kYields + kNaps;
  }

 private:
  int waits_ = 0;
};

}  // namespace omnio::trace
