// The I/O time that a storage system would cost the application.
//
// Where the phases were run together, by the schedule of the model, the application and the run are
// measured alike, as core/event/io_time.hpp defines it. Where the phases were run one by one, as
// IOR does, the estimate is the sum of the papers: Time_io = sum over phases of weight / bandwidth.
// Mendez, Rexachs, Luque (2012), equations 1, 2, 5, 6 and 7. Where the paper takes the average
// bandwidth of a phase's operations, their times are added here: a phase does both.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/phase_model.hpp"
#include "ior_bridge/ior/summary_reader.hpp"

namespace omnio::ior {

// The median of several measurements, the least and the most of them.
struct Spread {
  double median = 0;
  double least = 0;
  double most = 0;

  void add(const Spread& other);
};
Spread spreadOf(std::vector<double> values);  // of one value at least

struct OperationEstimate {
  model::Operation operation = model::Operation::kWrite;
  std::uint64_t weight_bytes = 0;
  Spread bandwidth_mib_s;
  Spread time_s;
};

// The I/O time of a phase, or of several.
struct IoTime {
  std::uint64_t weight_bytes = 0;
  std::uint64_t weight_operations = 0;  // calls of metadata phases
  Spread time_s;                        // Time_io; least is that of the greatest bandwidths
  double measured_s = 0;                // in the application; 0: not known

  void add(const IoTime& other);
  // 100 * (Time_io - measured) / measured.
  std::optional<double> timeErrorPercent() const;
  // The application's own, MiB/s; none where it was not measured (BW_MD of the paper).
  std::optional<double> measuredBandwidth() const;
};

struct PhaseEstimate : IoTime {
  int phase = 1;
  std::size_t iterations = 0;  // the least number over its operations
  std::vector<OperationEstimate> operations;
  Spread operations_per_s;  // of a metadata phase, which has no operations
  // As in the model.
  std::vector<std::pair<std::string, std::uint64_t>> calls;
  std::vector<std::string> sources;  // files that the bandwidths are from
  std::vector<std::string> notes;    // what was measured differs from the phase, a sentence each

  // Equation 6: 100 * |BW_CH - BW_MD| / BW_MD.
  std::optional<double> bandwidthErrorPercent() const;
};

// Runs of all phases together.
struct WholeEstimate {
  std::size_t runs = 0;
  Spread data_s;
  Spread metadata_s;
  Spread sync_s;
  Spread waiting_s;  // for other processes; not in the total
  // The longest path through the I/O of all processes; nothing where a run does not have it.
  std::optional<Spread> chain_s;
  double variation_percent = 0;   // of Time_io: standard deviation / mean; 0: of one run
  std::uint64_t differences = 0;  // calls that went otherwise than in the application, at most
};

// The total: of runs of all phases together, if there are any, else the sum over the phases.
struct Estimate : IoTime {
  std::string source;  // the model's
  std::string target;  // in words; empty where results do not say it
  std::vector<PhaseEstimate> phases;
  // Families of phases (core/model/phase_series.hpp): how they are called, and their phases.
  std::vector<std::pair<std::string, std::vector<int>>> families;
  std::vector<int> missing;  // phases without a result
  // Metadata phases without one, where others have: IOR runs no such calls.
  std::vector<int> missing_metadata;
  IoTime sum;  // over the phases that have a result: the papers' Time_io
  std::optional<WholeEstimate> whole;
  // As measured; all 0, and nothing, where the model does not have it.
  event::IoTime application;
  std::optional<std::int64_t> application_chain_ns;
};

// Said of a model without phases.
inline constexpr std::string_view kNothingInModel =
    "it has no phases: the trace has no call on a file or directory, so nothing can be estimated "
    "(`omnio stats` shows what was recorded)";

// A result as it was given: a summary, all of it or one of its tests, and the phase that it is of
// where that was said.
struct GivenResult {
  std::filesystem::path path;
  std::optional<int> phase;
  std::optional<int> test;  // TestID
};

// From "FILE", "ID=FILE" and "ID=FILE#TEST".
GivenResult givenResult(const std::string& word);

// The id in "phase-ID.json", "phase-ID-anything.json" and "phase-ID.txt" (of mdtest), the names
// that omnio ior gives.
std::optional<int> phaseOfName(const std::filesystem::path& path);

// Reads the results and brings them and the model together. A result is a document of the phase
// runner, an ior-plan.json with its summaries, a summary of IOR, or a text of mdtest. What IOR
// measured of a phase holds for all phases of its family that have no result. Fails with a sentence
// for a result that cannot be read, is of another model, of no phase, or of one that the model has
// not, and for results of two targets. Phases without a result are named in Estimate::missing.
base::Result<Estimate> estimate(const model::PhaseModel& model,
                                const std::vector<GivenResult>& results);

// `peak_mib_s` adds the paper's SystemUsage = 100 * BW_MD / BW_PK. The table has a row for each of
// the `rows` families of phases that take longest, in their order, and one for the rest; or for
// each of the phases.
std::string textOf(const Estimate& estimate, std::optional<double> peak_mib_s,
                   std::size_t rows = std::numeric_limits<std::size_t>::max(),
                   bool is_each = false);
std::string jsonOf(const Estimate& estimate, std::optional<double> peak_mib_s);

}  // namespace omnio::ior
