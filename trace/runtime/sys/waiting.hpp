// Waiting while the tracer changes what all threads share: signals wait for the tracer, and the
// tracer waits for other threads.
#pragma once

#include <signal.h>
#include <time.h>

#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {

// Signals wait while a ring or the container changes hands or shape. A handler may record, fork or
// end the process: in the middle of a record that is provided for, here it would find half of
// everything. These are the rare and slow ways, where two system calls more do not count.
class HeldSignals {
 public:
  HeldSignals() {
    const std::uint64_t all = ~std::uint64_t{0};
    rawSyscall(SYS_rt_sigprocmask, SIG_SETMASK, address(&all), address(&before_), sizeof before_);
  }
  ~HeldSignals() {
    rawSyscall(SYS_rt_sigprocmask, SIG_SETMASK, address(&before_), 0, sizeof before_);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  std::uint64_t before_ = 0;  // as the kernel has it: one bit for each of 64 signals
};

// Waiting for another thread that is inside the tracer: it writes a ring out, or creates the
// container. Rare, short, and never for ever: a thread may have been stopped where it is by a
// debugger or a garbage collector, which must not stop this one too.
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

// Waits as long as `is_busy()`; false when that was too long.
template <typename IsBusy>
bool waitWhile(IsBusy is_busy) {
  Patience patience;
  while (is_busy()) {
    if (!patience.wait()) return false;
  }
  return true;
}

}  // namespace omnio::trace
