#include "core/base/threads.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace omnio::base {

unsigned usableProcessors() {
  cpu_set_t own;
  CPU_ZERO(&own);
  if (sched_getaffinity(0, sizeof own, &own) == 0) return static_cast<unsigned>(CPU_COUNT(&own));
  // The machine has more processors than the set has room for.
  return std::max(1U, std::thread::hardware_concurrency());
}

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace omnio::base
