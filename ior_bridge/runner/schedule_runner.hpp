// Runs all phases of a model as the application did: in their order and at the same time, with all
// their calls, by the schedule that lies beside the model. The replayer's engine issues the calls.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/phase_model.hpp"
#include "ior_bridge/runner/phase_results.hpp"
#include "ior_bridge/runner/phase_runner.hpp"
#include "replay/run/session.hpp"

namespace omnio::ior {

struct ScheduleRun {
  std::vector<PhaseTest> tests;
  std::vector<WholeRun> runs;                   // by iteration
  std::vector<storage::TargetStorage> storage;  // the same; on the first process
  std::string schedule_digest;
};

// Called before each iteration, on every process.
using WholeProgress = std::function<void(int iteration)>;

// All processes of the session call it; there are as many as the model has. `schedule` is read by
// the first, and its programs are put into `programs`, a directory that all processes see and that
// is not on the storage under test. The results are the same on all. Fails, the same on all, when
// the schedule cannot be read or is not of the model; ends all processes with a sentence where the
// replay itself cannot go on.
base::Result<ScheduleRun> runSchedule(const model::PhaseModel& model,
                                      const std::filesystem::path& schedule,
                                      const std::filesystem::path& programs,
                                      const RunnerOptions& options, replay::Session& session,
                                      replay::Request& request, const WholeProgress& progress);

}  // namespace omnio::ior
