// Runs phases of a model by themselves and measures them, as IOR measures its tests: from the first
// open to the last close over all processes, after a barrier (docs/commands/phase-run.md).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/phase_model.hpp"
#include "ior_bridge/runner/phase_file.hpp"
#include "ior_bridge/runner/phase_results.hpp"
#include "ior_bridge/runner/phase_team.hpp"

namespace omnio::ior {

struct RunnerOptions {
  std::filesystem::path directory;  // fresh, and there; the runner writes nowhere else
  int iterations = 3;
  std::optional<int> phase;   // all when not given
  std::optional<RunApi> api;  // else each phase's own
  bool fsync = true;
  bool cold = true;   // reads: pages of the file are given up before
  bool keep = false;  // files stay when a phase has been run
};

// Called before each iteration, on every process.
using Progress = std::function<void(const model::Phase&, int iteration)>;

// Collective over `world`, whose size is the model's number of processes. The tests, the
// same on all; or the failure of the lowest rank that has one, the same for all too, with its rank
// in the sentence.
base::Result<std::vector<PhaseTest>> runPhases(const model::PhaseModel& model,
                                               const RunnerOptions& options, const PhaseTeam& world,
                                               const Progress& progress);

}  // namespace omnio::ior
