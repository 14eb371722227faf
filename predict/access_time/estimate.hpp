// The I/O time that an application would have on a calibrated target, without running anything
// there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "predict/access_time/access_times.hpp"
#include "predict/access_time/io_simulation.hpp"
#include "predict/access_time/schedule_program.hpp"
#include "predict/calibration/document.hpp"

namespace omnio::access_time {

// What the estimate may be off by, as parts of it. Each is for about 95 of 100 estimates.
struct Uncertainty {
  double rounds = 0;     // the target from one round of the calibration to the next, or from one
                         // access to the next where few were measured
  double model = 0;      // the model at sizes that were not measured
  double noise = 0;      // the target from one minute to the next
  double structure = 0;  // what no calibration has: how calls of different kinds change each other
  double total() const;
};

// I/O time that was measured in another way, to be shown beside the estimate.
struct Beside {
  std::string name;
  double io_s = 0;
};

// What the operations of one kind add, over all ranks.
struct OperationTotal {
  CellOperation operation = CellOperation::kRead;
  double count = 0;
  double seconds = 0;
  double inside_seconds = 0;  // of it, within the calibrated range
  double processes = 1;       // at once, the mean over time
};

struct CalibratedEstimate {
  std::string calibration;  // the name of its document
  std::string target;       // "/scratch (ext4) on node1, cached"
  std::string source;       // the trace that the schedule or model was made from
  std::string method;       // how the accesses were found, in words
  IoProfile profile;
  Uncertainty uncertainty;
  double inside_share = 0;  // of the I/O time, within the calibrated range
  std::vector<OperationTotal> operations;
  ModelKind model = ModelKind::kTable;
  std::vector<std::pair<ModelKind, double>> total_errors;  // of each model, parts of the total
  std::optional<predict::Noise> noise;
  bool has_mpi_calls = false;  // calls of MPI-IO, and not the POSIX calls below them
  std::vector<std::string> notes;
  std::vector<Beside> beside;
  std::vector<ModelErrors> model_errors;  // to be shown too; empty: they were not asked for

  double seconds() const { return profile.slowest().total(); }
  double leastSeconds() const { return seconds() / (1 + uncertainty.total()); }
  double mostSeconds() const { return seconds() * (1 + uncertainty.total()); }
};

struct EstimateRequest {
  std::filesystem::path subject;  // a phase model or a schedule
  std::filesystem::path calibration;
  std::optional<predict::CacheState> cache{};  // that the estimate is wanted for
  std::optional<ModelKind> model{};            // and not the best
  double most_steps = kMostSteps;
};

// Fails with a sentence: a document that cannot be read; a calibration with too little in it, of
// another cache state than is wanted or than the calls of the schedule use, or without operations
// that the schedule has.
base::Result<CalibratedEstimate> estimate(const EstimateRequest& request);

std::string textOf(const CalibratedEstimate& estimate);
std::string jsonOf(const CalibratedEstimate& estimate);

}  // namespace omnio::access_time
