// Reads the results of a plan that IOR ran. The document of a plan (ior-plan.json, peak.json) names
// the summary of each measured run, and the summaries lie beside the document. A summary of IOR
// does not say what it was made for; by the plan it is known, and the parameters in the summary
// have to be those of the run.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/phase_model.hpp"

namespace omnio::ior {

// Bandwidths in MiB/s: by phase, by operation of the phase, by iteration. As many iterations
// everywhere as there are of the one that has least.
struct PhaseBandwidths {
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

// The "format" of a JSON document; empty when it has none, or is not JSON.
std::string formatOf(const std::filesystem::path& path);

// Both fail with one sentence for what is not such a document, for a summary that is missing, was
// aborted, or is of a run with other parameters, and where an operation has no run.
//
// Reads an ior-plan.json and its summaries. Fails for the plan of another model too, and for runs
// on two targets.
base::Result<PhaseBandwidths> readPlanResults(const std::filesystem::path& path,
                                              const model::PhaseModel& model);
// Reads a peak.json and its summaries.
base::Result<PeakBandwidths> readPeak(const std::filesystem::path& path);

}  // namespace omnio::ior
