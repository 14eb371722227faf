// Threads beside the main one: how many may work at the same time, and that signals do
// not come to them.
#pragma once

#include <signal.h>

namespace omnio::base {

// The processors that this process may use: those that taskset(1), a batch system or a control
// group of processors leaves it, not those of the machine. At least 1.
unsigned usableProcessors();

// While this lives, the calling thread gets no signals; threads that it starts never do. Signals go
// to the thread that works, and their handlers run in one thread alone.
class SignalsBlocked {
 public:
  SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked();

 private:
  sigset_t before_;
};

}  // namespace omnio::base
