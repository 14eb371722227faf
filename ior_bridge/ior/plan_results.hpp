// Reads the results of a plan that IOR ran. The document of a plan (ior-plan.json, peak.json) says
// with which options the plan was made, and the summaries of its runs lie beside the document. A
// summary of IOR does not say what it was made for; by the plan it is known, and the parameters in
// the summary have to be those of the run.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/phase_model.hpp"
#include "ior_bridge/ior/plan.hpp"

namespace omnio::ior {

// Bandwidths in MiB/s (family_rate.hpp): by phase, by operation of the phase, by iteration. The
// phases of a family have those of their family.
struct PlanResults {
  IorPlan plan;  // of the model that was given
  std::map<int, std::vector<std::vector<double>>> mib_s;
  std::size_t iterations = 0;
  std::string target;  // the directory that the data was in; empty where summaries do not say it
};

// BW_PK of Mendez, Rexachs, Luque (2012), equations 3 and 4, in MiB/s: the highest bandwidth of the
// runs, summed over the I/O nodes.
struct PeakBandwidths {
  double write_mib_s = 0;
  double read_mib_s = 0;
};

// A text of a JSON document, such as its "format"; empty when it has none, or is not JSON.
std::string memberOf(const std::filesystem::path& path, std::string_view key);

// Both fail with one sentence for what is not such a document, and for a summary that is missing,
// was aborted, or is of a run with other parameters.
//
// Reads an ior-plan.json and its summaries. Fails for the plan of another model too, and for runs
// on two targets.
base::Result<PlanResults> readPlanResults(const std::filesystem::path& path,
                                          const model::PhaseModel& model);
// Reads a peak.json and its summaries.
base::Result<PeakBandwidths> readPeak(const std::filesystem::path& path);

}  // namespace omnio::ior
