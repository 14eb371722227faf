// Evidence of a run beside its times: whether storage was measured or the memory of the nodes,
// whether the replayer was late, and whether its calls did as those of the application. Reports of
// replays (docs/formats/replay_report.md) and results of omnio-phase-run
// (docs/formats/ior_results.md) have it in the same form.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/storage/counters.hpp"
#include "core/storage/target_storage.hpp"

namespace omnio::procurement {

// Bytes of the devices or servers of all targets and nodes, in parts of the run of equal length.
struct StorageCourse {
  double part_s = 1;
  std::vector<storage::Moved> moved;
};

struct RunEvidence {
  storage::MeasuredPart measured = storage::MeasuredPart::kUnknown;
  storage::MeasuredPart measured_with_sync = storage::MeasuredPart::kUnknown;
  storage::Moved calls;   // bytes of the calls
  storage::Moved device;  // bytes of the devices or servers, to the last call
  storage::Moved device_with_sync;
  double busy = 0;                   // share of the time, of the busiest device
  std::uint64_t dirty_bytes = 0;     // in memory after the last call
  std::uint64_t capacity_bytes = 0;  // of the target's file system, the first one
  std::uint64_t free_begin_bytes = 0;
  std::uint64_t free_end_bytes = 0;
  StorageCourse course;
  bool is_late = false;
  // Nothing where the document does not say it.
  std::optional<double> stretch_share;
  std::optional<std::uint64_t> differences;  // results of calls that differ from the recording
  std::set<std::string> hosts;
  std::string mount;     // of the first target, on the first node: point, type and source
  std::string platform;  // operating system, host and release; empty: not known
};

// Nothing where the document says nothing of storage. The document of several runs has their sums.
base::Result<std::optional<RunEvidence>> readEvidence(const std::filesystem::path& path);

// The part of the system that the times of the runs are of: memory where that of one run is,
// unknown where those of all runs are.
storage::MeasuredPart measuredPartOf(const std::vector<RunEvidence>& runs,
                                     storage::MeasuredUntil until);
// "of memory in 5 of 5 runs: ...". There is at least one run.
std::string measuredSentence(const std::vector<RunEvidence>& runs, storage::MeasuredUntil until);

struct EvidenceMedians {
  storage::Moved calls;
  storage::Moved device;
  storage::Moved device_with_sync;
  double busy = 0;
};
// There is at least one run.
EvidenceMedians mediansOf(const std::vector<RunEvidence>& runs);

// Members of an open object.
void putEvidence(base::JsonWriter& json, const RunEvidence& run);
void putMedians(base::JsonWriter& json, const EvidenceMedians& medians);

}  // namespace omnio::procurement
