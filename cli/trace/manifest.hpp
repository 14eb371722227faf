// manifest.json: the trace directory in words, for people and other programs. It says what the
// containers say at the time of writing; readers of a trace go by the containers themselves.
// docs/formats/manifest.md describes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::cli {

// How a command was traced, by the `omnio trace` that started it.
struct Launch {
  std::vector<std::string> command;
  std::string host;
  std::string flavour;  // as asked for
  std::string library;  // that was preloaded
  int pid = 0;
  std::int64_t started_ns = 0;  // Unix time
  std::int64_t ended_ns = 0;
  int exit_code = 0;
  int signal = 0;
  std::uint64_t events_collected = 0;  // from rings of killed processes
  std::vector<std::string> troubles;
};

// launch-<host>-<pid>.json
base::Result<void> writeLaunch(const std::filesystem::path& directory, const Launch& launch);
base::Result<void> writeManifest(const tracefile::Trace& trace,
                                 const tracefile::Wholeness& wholeness);

// How fast a trace grows: what a longer run would need.
struct LogGrowth {
  std::uint64_t bytes = 0;  // of the files of all processes
  // The time from the first begin of a process to the last end of one; less the part of their own
  // times that recording was stopped in.
  double recorded_s = 0;

  double bytesPerHour() const;  // 0 when no time was recorded
};

LogGrowth growthOf(const tracefile::Trace& trace);

// "12.3 MiB in 8.6 s, 5.03 GiB an hour"; of less than a second the size alone, since most of that
// is the beginning.
std::string growthText(const LogGrowth& growth);

}  // namespace omnio::cli
