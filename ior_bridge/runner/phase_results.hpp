// The results of omnio-phase-run, in the form of IOR's summary with a format, a version and each
// test's phase added (docs/formats/ior_results.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/phase_model.hpp"
#include "core/storage/held_memory.hpp"
#include "core/storage/target_storage.hpp"

namespace omnio::ior {

inline constexpr std::string_view kPhaseResultsFormat = "omnio-phase-results";
inline constexpr int kPhaseResultsVersion = 2;

// Times in seconds. Of a run by the schedule: of the process that spent most in the calls of the
// phase (core/event/io_time.hpp). Of a phase by itself: spans over all processes, from the first
// that began to the last that ended. Of a mixed phase: the operation's share
// (docs/commands/phase-run.md).
struct PhaseMeasurement {
  bool is_metadata = false;  // of a metadata phase: requests are calls, and the operation is none
  model::Operation operation = model::Operation::kWrite;
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  double metadata_s = 0;  // opens, closes and the like
  double transfer_s = 0;
  double sync_s = 0;
  double waiting_s = 0;  // for other processes, in collective calls; not part of the total
  double total_s = 0;
};

// All phases, run together by the schedule. Times in ns.
struct WholeRun {
  event::IoTime io = {};  // of the process that spent most in its calls: Time_io
  int slowest_rank = 0;
  event::IoTime outside = {};  // of the calls that are of no phase, of the process with most
  std::int64_t sum_ns = 0;     // the papers': over the phases, each of its slowest process
  std::int64_t chain_ns = 0;   // the longest path through the I/O of all processes
  std::int64_t makespan_ns = 0;
  std::uint64_t operations = 0;
  std::uint64_t differences = 0;  // calls with another result than in the application
  std::uint64_t not_issued = 0;
  std::string first_difference = {};
  double lateness_mean_ns = 0;
};

// Over total_s; finite for any measurement.
double bandwidthMibS(const PhaseMeasurement& measurement);
// Calls a second, of a metadata phase; the same.
double operationsPerSecond(const PhaseMeasurement& measurement);

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
  // How often the requests of the phase were repeated at new offsets, to go beyond the cache. More
  // than 0: the bandwidth is the storage's, and says nothing of the application's time.
  std::uint64_t beyond_cache_turns = 0;
  std::vector<std::string> notes = {};
  std::vector<PhaseMeasurement> measurements = {};  // interleaved, iteration by iteration
};

// What results are of: they are never used for another model, and never mixed with those of
// another target.
struct ResultsIdentity {
  std::string model_digest = {};     // model::digestOf
  std::string schedule_digest = {};  // empty: phases were run by themselves
  std::string date = {};             // 2026-11-25T13:30:00Z
  std::string mount = {};            // "/scratch ext4 /dev/sda1": point, type, source
  std::uint64_t target_bytes = 0;    // of the file system
  std::vector<std::string> hosts = {};
  std::string mpi = {};             // the library and its version
  std::uint64_t memory_bytes = 0;   // of a node
  std::uint64_t written_bytes = 0;  // by the model, in all
};

struct PhaseResults {
  std::string version = {};  // of omnio
  std::string command = {};
  std::string machine = {};
  std::string target = {};
  ResultsIdentity identity = {};
  std::vector<PhaseTest> tests = {};
  std::vector<WholeRun> runs = {};  // by iteration; empty where phases were run by themselves
  // One for each run; of phases by themselves one in all, with the times that were measured.
  std::vector<storage::TargetStorage> storage = {};
  storage::HeldBytes held = {};
};

// Bytes of the data phases, over all iterations.
storage::Moved movedBy(const std::vector<PhaseTest>& tests);

std::string jsonOf(const PhaseResults& results);

}  // namespace omnio::ior
