// Signals wait while a ring or the container changes hands or shape. A handler may record, fork or
// end the process: in the middle of a record that is provided for, here it would find half of
// everything. These are the rare and slow ways, where two system calls more do not count.
#pragma once

#include <signal.h>

#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {

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

}  // namespace omnio::trace
