// manifest.json: the trace directory in words, for people and other programs. It says what the
// containers say at the time of writing; readers of a trace go by the containers themselves.
// docs/formats/manifest.md describes it.
#pragma once

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
base::Result<std::filesystem::path> writeLaunch(const std::filesystem::path& directory,
                                                const Launch& launch);
base::Result<std::filesystem::path> writeManifest(const tracefile::Trace& trace,
                                                  const tracefile::Wholeness& wholeness);

}  // namespace omnio::cli
