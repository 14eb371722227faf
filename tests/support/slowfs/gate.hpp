// Requests of one class that wait until slowfs is told to go on: what holds while a device does not
// answer is found without a clock.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "tests/support/slowfs/requests.hpp"

namespace slowfs {

// Threads share one object, which outlives them all.
class Gate {
 public:
  // Waits while requests of that class are held. `caller` is the thread that asks.
  void pass(RequestClass of, pid_t caller);

  // From now on, requests of that class wait.
  void hold(RequestClass of);
  // As many of those that wait go on, in the order of their arrival.
  void let(std::uint64_t requests);
  // All that wait go on, and later ones do not wait.
  void open();

  // The callers whose requests wait, in the order of their arrival: a line of JSON without its end.
  std::string json() const;

 private:
  struct Waiting {
    pid_t caller;
    bool goes;
  };

  void letLocked(std::uint64_t requests);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<RequestClass> held_;
  std::deque<Waiting*> waiting_;
};

}  // namespace slowfs
