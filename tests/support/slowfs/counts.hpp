// Counts of the requests that were served, and the time that they took.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "tests/support/slowfs/requests.hpp"

namespace slowfs {

// One served request. Times are those of CLOCK_MONOTONIC.
struct Served {
  Kind kind;
  int error = 0;
  std::uint64_t bytes = 0;
  std::int64_t begin_ns = 0;     // the arrival, or the beginning of its turn
  std::int64_t end_ns = 0;       // just before the reply
  std::int64_t deadline_ns = 0;  // the time at which the reply was due
  std::int64_t planned_ns = 0;   // what it takes when nothing else is served
  bool overran = false;          // the call on the backing file system ended after the deadline
};

// Threads share one object.
class Counts {
 public:
  // Between the two calls the file system is busy.
  void begins(Kind kind, std::int64_t now_ns);
  void ends(const Served& served);

  // One line of JSON without its end.
  std::string json() const;

 private:
  struct OfKind {
    std::uint64_t requests = 0;
    std::uint64_t failed = 0;
    std::int64_t service_ns = 0;
    std::int64_t planned_ns = 0;
  };

  mutable std::mutex mutex_;
  std::array<OfKind, kKinds.size()> kinds_;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t in_service_ = 0;
  std::uint64_t paced_in_service_ = 0;
  std::uint64_t most_paced_in_service_ = 0;
  std::int64_t busy_since_ns_ = 0;
  std::int64_t busy_until_ns_ = 0;  // of the last request before
  std::int64_t busy_ns_ = 0;

  // How late the replies were that waited for their deadline: the last bucket has all from 1 ms on.
  std::int64_t microsecondsLate(std::uint64_t percent) const;
  std::array<std::uint64_t, 1001> by_late_us_{};
  std::uint64_t waited_ = 0;
  std::int64_t latest_ns_ = 0;
  std::uint64_t overrun_ = 0;
};

}  // namespace slowfs
