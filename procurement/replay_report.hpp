// The report of a replay (docs/formats/replay_report.md): its work and its times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result.hpp"
#include "ior_bridge/ior/summary_reader.hpp"

namespace omnio::procurement {

// How much a replay did.
struct ReplayedWork {
  std::uint64_t operations = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
};

// Whether it is the same work but for calls that a replay does otherwise on purpose (docs/commands/
// replay.md): as many operations, and bytes that differ by at most a thousandth or 4 KiB.
bool isSameWork(const ReplayedWork& one, const ReplayedWork& other);
// The same of sums of bytes alone.
bool isAboutAsMuch(std::uint64_t one_bytes, std::uint64_t other_bytes);

// "8 calls that read 0 bytes and write 524288"
std::string textOf(const ReplayedWork& work);

struct ReplayReport {
  std::string schedule_digest;
  std::string timing;  // dt, asap, start
  ReplayedWork work;
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
