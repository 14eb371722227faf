// Packs the containers of a trace, in place or into a copy, several at once; and restores them.
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
  bool restore = false;          // the way back
  std::filesystem::path copy{};  // a directory to be made; empty: in place
  int level = kDefaultPackLevel;
  unsigned jobs = 1;          // containers at once
  bool assume_ended = false;  // of processes that did not say so and cannot be seen from here
  // Told how far it has come, by one thread at a time.
  std::function<void(std::uint64_t done_bytes, std::uint64_t all_bytes)> progress{};
};

struct PackReport {
  std::uint64_t containers = 0;
  std::uint64_t changed = 0;          // packed or restored; the rest was as it was to become
  std::uint64_t events = 0;           // of these, as their chunks say
  std::uint64_t recorded_bytes = 0;   // of these, as recorded
  std::uint64_t packed_bytes = 0;     // of these, packed
  std::vector<std::string> kept;      // containers that cannot be read and stay as they are
  std::vector<std::string> troubles;  // why it stopped, one sentence each
};

// Fails, with nothing changed, where there is no trace, where a process of it runs or may run, and
// where events of it wait to be collected. When it stops on its way (report.troubles), a copy is
// taken back; in place, each container is as it was or done.
base::Result<PackReport> packTrace(const std::filesystem::path& trace, const PackOptions& options);

inline constexpr unsigned kMostPackJobs = 64;
// How many containers at once use this machine: its processors, within bounds that memory and
// storage set.
unsigned usualPackJobs();

}  // namespace omnio::tracefile
