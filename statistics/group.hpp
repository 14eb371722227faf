// What is counted of a group of events (a file's, a rank's, a thread's, a call's).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "core/calls/role.hpp"
#include "core/event/event.hpp"

namespace omnio::stats {

// Count, total, smallest and largest of a quantity.
struct Summary {
  std::uint64_t count = 0;
  std::uint64_t total = 0;
  std::uint64_t least = 0;
  std::uint64_t most = 0;

  void add(std::uint64_t value) {
    least = count == 0 ? value : std::min(least, value);
    most = std::max(most, value);
    total += value;
    ++count;
  }
  double average() const {
    return count == 0 ? 0.0 : static_cast<double>(total) / static_cast<double>(count);
  }
};

// Reads, or writes.
struct Transfer {
  Summary size_bytes;  // of the calls that succeeded and tell how many bytes they moved
  Summary time_ns;     // of all calls

  // MiB a second of time spent inside the calls; 0 when no time was measured.
  double bandwidthMibS() const {
    constexpr double kMib = 1024.0 * 1024.0;
    constexpr double kNsPerS = 1e9;
    return time_ns.total == 0 ? 0.0
                              : static_cast<double>(size_bytes.total) / kMib /
                                    (static_cast<double>(time_ns.total) / kNsPerS);
  }
};

struct Group {
  std::string name;
  std::array<std::uint64_t, calls::kClassCount> operations{};  // by class
  std::uint64_t failed = 0;
  Transfer read;
  Transfer write;
  Summary time_ns;      // of all operations on files
  Summary mpi_sync_ns;  // of the MPI calls that order ranks: transfer, and waiting for others

  std::uint64_t events() const { return time_ns.count + mpi_sync_ns.count; }

  std::uint64_t of(calls::Class c) const { return operations[static_cast<std::size_t>(c)]; }
  // With `bytes_later` an event tells how many bytes it read, later than this one.
  void add(const event::Event& event, bool bytes_later = false);
};

}  // namespace omnio::stats
