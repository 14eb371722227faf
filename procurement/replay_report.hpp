// What the report of a replay (docs/formats/replay_report.md) says of its times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result.hpp"
#include "ior_bridge/ior/summary_reader.hpp"

namespace omnio::procurement {

struct ReplayReport {
  std::string schedule_digest;
  std::string target;                 // the directory
  bool is_traced = false;             // a trace is beside it
  std::optional<ior::SummaryRun> io;  // nothing in asap, where calls are not timed one by one
  double run_s = 0;                   // with what was written back at the end
  std::uint64_t differences = 0;
};

// The report in the directory of a replay.
std::filesystem::path reportOf(const std::filesystem::path& directory);
base::Result<ReplayReport> readReplayReport(const std::filesystem::path& path);

}  // namespace omnio::procurement
