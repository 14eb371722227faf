// A phase as runs of IOR, with what IOR cannot express said in words.
//
// After Mendez, Rexachs, Luque (2012): s = 1, b = the process's part of the weight, t = rs, -F for
// a file a process, -c for collective calls, -z for random ones. Beyond the paper: a stride of np *
// rs is -b rs -t rs -s rep, and the operations of a mixed phase are runs whose times add.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/phase_model.hpp"
#include "ior_bridge/ior/run.hpp"

namespace omnio::ior {

struct PlanOptions {
  std::optional<Api> api = {};  // else the phase's own
  bool fsync = true;            // writes end on the storage, not in the page cache
  int iterations = 3;
};

struct PhasePlan {
  int phase = 1;
  std::vector<IorRun> runs;                 // in this order, the preparing ones among them
  std::vector<std::string> approximations;  // a sentence each; none: IOR does what the phase does
};

struct IorPlan {
  std::string source;  // the model's
  PlanOptions options;
  std::vector<PhasePlan> phases;
};

IorPlan planFor(const model::PhaseModel& model, const PlanOptions& options);

}  // namespace omnio::ior
