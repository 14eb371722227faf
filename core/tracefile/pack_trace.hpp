// Packs the containers of a trace in place, several at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/tracefile/packed_payload.hpp"

namespace omnio::tracefile {

struct PackOptions {
  int level = kDefaultPackLevel;
  unsigned jobs = 1;          // containers at once
  bool assume_ended = false;  // processes that did not say so and cannot be seen from here
  // Called with how far packing is, by one thread at a time.
  std::function<void(std::uint64_t done_bytes, std::uint64_t all_bytes)> progress{};
};

struct PackReport {
  std::uint64_t containers = 0;
  std::uint64_t changed = 0;          // the others held nothing to pack
  std::uint64_t events = 0;           // in the changed containers, as their chunks say
  std::uint64_t bytes_before = 0;     // of the changed containers
  std::uint64_t bytes_after = 0;      // of the changed containers
  std::vector<std::string> kept;      // containers that cannot be read and stay as they are
  std::vector<std::string> troubles;  // why packing stopped, one sentence each
};

// Fails, with nothing changed, where the directory holds no trace, where a process of it runs or
// may run, and where events of it wait to be collected. When it stops on its way (report.troubles),
// each container is as it was or packed.
base::Result<PackReport> packTrace(const std::filesystem::path& trace, const PackOptions& options);

inline constexpr unsigned kMostPackJobs = 64;
// How many containers at once use this machine: its processors, up to what a device takes.
unsigned usualPackJobs();

}  // namespace omnio::tracefile
