// When each request is answered: latencies, a shared bandwidth, turns, and planned errors.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <semaphore>
#include <vector>

#include "tests/support/slowfs/counts.hpp"
#include "tests/support/slowfs/gate.hpp"
#include "tests/support/slowfs/requests.hpp"

namespace slowfs {

// Calls of a class or of a kind that fail; of all paced requests when neither is given.
struct Failure {
  std::optional<RequestClass> of_class;
  std::optional<Kind> of_kind;
  int error = 0;
  std::uint64_t number = 1;  // the first call is number 1
  bool onwards = false;      // all later calls fail too
};

struct PaceOptions {
  std::array<std::int64_t, kPacedClasses> latency_ns{};  // by RequestClass
  double jitter = 0;                                     // 0.1: at most a tenth more or less
  std::uint64_t seed = 1;
  double bandwidth_bytes_per_ns = 0;  // 0: no limit
  bool one_at_a_time = false;
  std::int64_t spin_ns = 50'000;
  std::vector<Failure> failures;
};

// Requests that are served one after the other, in the order of their arrival.
class Turns {
 public:
  // Waits for the turn, and returns the time at which it began.
  std::int64_t enter(std::int64_t arrival_ns);
  // A turn ends at the time that was planned, although the thread that serves it wakes up later:
  // so these delays do not add up.
  void leave(std::int64_t end_ns);

 private:
  std::mutex mutex_;
  std::deque<std::binary_semaphore*> waiting_;
  bool taken_ = false;
  std::int64_t free_at_ns_ = 0;
};

// One channel that all transfers pass one after the other.
class Channel {
 public:
  explicit Channel(double bytes_per_ns) : bytes_per_ns_(bytes_per_ns) {}
  std::int64_t transferTime(std::uint64_t bytes) const;
  // Returns the time at which this transfer ends.
  std::int64_t transfer(std::int64_t arrival_ns, std::uint64_t bytes);

 private:
  const double bytes_per_ns_;
  std::mutex mutex_;
  std::int64_t free_at_ns_ = 0;
};

// Threads share one object, which outlives the services below.
class Pace {
 public:
  Pace(const PaceOptions& options, Counts& counts, Gate& gate);

 private:
  friend class Service;

  int plannedError(Kind kind);
  std::int64_t latencyOf(Kind kind);
  void sleepUntil(std::int64_t deadline_ns);

  const PaceOptions options_;
  Counts& counts_;
  Gate& gate_;
  Turns turns_;
  Channel channel_;
  const int spinners_allowed_;
  std::atomic<int> spinners_ = 0;
  std::atomic<std::uint64_t> draws_ = 0;
  std::deque<std::atomic<std::uint64_t>> calls_;  // of options_.failures
};

// One request on the thread that serves it, from its arrival until after the reply.
class Service {
 public:
  // `caller` is the thread that asks.
  Service(Pace& pace, Kind kind, pid_t caller);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // The error to answer in place of the call on the backing file system, or 0.
  int plannedError() const { return planned_error_; }
  // Waits until the reply is due. The call on the backing file system has been made by then, so
  // that the time it took is a part of the latency.
  void waitForReply(int error, std::uint64_t bytes = 0);

 private:
  Pace& pace_;
  const Kind kind_;
  const bool paced_;
  std::int64_t begin_ns_;
  std::int64_t turn_end_ns_ = 0;
  int planned_error_;
};

}  // namespace slowfs
