// Reads whose bytes a later event tells than the one that began them: nonblocking MPI-IO, by the
// call that finds the request complete, and split collective, by its end (MPI-3.1, section 13.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "core/event/event.hpp"

namespace omnio::event {

// Whether the call only begins a transfer that goes on after it has returned: nonblocking MPI-IO
// whose request was not complete at once, and the begin of a split collective. Its duration says
// nothing about the time of the transfer.
bool onlyBegins(const Event& event);

// One object serves one process. A read whose other end is missing (it was called while recording
// was stopped, or is lost) is not reported.
class LaterReads {
 public:
  // Where a read is counted, and the bytes that it got.
  using Take = std::function<void(std::size_t place, std::uint64_t bytes)>;

  // In which order events come: by the time they began, or log by log, so that an end may be seen
  // before its begin, and of split reads all wait for finish().
  enum class Order { kByTime, kByLog };

  explicit LaterReads(Order order = Order::kByTime) : order_(order) {}

  // Whether the event begins such a read.
  static bool begins(const Event& event);

  // Call it with each event that begins one, and with where that is counted.
  void begin(const Event& event, std::size_t place, const Take& take);
  // Call it with each other event: it reports the reads whose end that is.
  void end(const Event& event, const Take& take);
  // Call it after the last event: it reports the reads that waited for that.
  void finish(const Take& take);

 private:
  // The begin or end of a split read.
  struct Half {
    std::int64_t start_ns;
    bool is_end;
    std::uint64_t value;  // its place, or the bytes
  };
  using Halves = std::vector<Half>;

  static void settle(Halves& halves, const Take& take);
  void ended(std::uint64_t request, std::uint64_t bytes, const Take& take);

  Order order_;
  std::unordered_map<std::uint64_t, std::size_t> begun_;    // by request: the place
  std::unordered_map<std::uint64_t, std::uint64_t> ended_;  // by request not begun: the bytes
  std::unordered_map<std::uint32_t, Halves> split_;         // by file handle
};

}  // namespace omnio::event
