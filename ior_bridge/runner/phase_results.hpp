// The results of omnio-phase-run, in the form of IOR's summary with a format, a version and each
// test's phase added (docs/formats/ior_results.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/phase_model.hpp"

namespace omnio::ior {

inline constexpr std::string_view kPhaseResultsFormat = "omnio-phase-results";
inline constexpr int kPhaseResultsVersion = 1;

// Times in seconds; spans over all processes: from the first that began to the last that ended.
struct PhaseMeasurement {
  model::Operation operation = model::Operation::kWrite;
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  double open_s = 0;
  double transfer_s = 0;
  double close_s = 0;  // with the fsync, where there is one
  double total_s = 0;  // of a mixed phase: the operation's share (docs/commands/phase-run.md)
};

// Over total_s; finite for any measurement.
double bandwidthMibS(const PhaseMeasurement& measurement);

struct PhaseTest {
  int phase = 1;
  std::string api = {};  // POSIX, STDIO or MPIIO
  int tasks = 1;
  int iterations = 1;
  bool shared = true;
  bool collective = false;
  bool random = false;
  bool fsync = true;
  bool cold = false;             // reads: pages were given up before
  double resident_percent = -1;  // pages of the file in memory before a read; < 0: not known
  std::uint64_t request_bytes = 0;
  std::uint64_t block_bytes = 0;  // what one process moves in one operation
  std::vector<std::string> notes = {};
  std::vector<PhaseMeasurement> measurements = {};  // interleaved, iteration by iteration
};

struct PhaseResults {
  std::string version = {};  // of omnio
  std::string command = {};
  std::string machine = {};
  std::string target = {};
  std::vector<PhaseTest> tests = {};
};

std::string jsonOf(const PhaseResults& results);

}  // namespace omnio::ior
