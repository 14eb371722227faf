// Reads whose bytes a later event tells than the one that began them: nonblocking MPI-IO, by the
// call that finds the request complete, and split collective, by its end (MPI-3.1, section 13.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "core/event.hpp"

namespace omnio {

// Of one process, whose logs may come in any order: the end of a read may be seen before its begin.
class LaterReads {
 public:
  // Where a read is counted, and the bytes that it got.
  using Take = std::function<void(std::size_t place, std::uint64_t bytes)>;

  // Whether the event begins such a read.
  static bool begins(const Event& event);

  // Of each event that begins one, with where it is counted.
  void begin(const Event& event, std::size_t place, const Take& take);
  // Of each other event: tells of the reads whose end it is.
  void end(const Event& event, const Take& take);

 private:
  struct Open {
    std::vector<std::size_t> places;   // begun, and not ended: mostly one
    std::vector<std::uint64_t> bytes;  // ended, and not begun
  };
  void ended(std::uint64_t key, std::uint64_t bytes, const Take& take);

  std::unordered_map<std::uint64_t, Open> open_;
};

}  // namespace omnio
