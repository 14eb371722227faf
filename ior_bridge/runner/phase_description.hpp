// What is known of a phase's test before it is run.
#pragma once

#include "core/model/phase_model.hpp"
#include "ior_bridge/runner/phase_file.hpp"
#include "ior_bridge/runner/phase_results.hpp"
#include "ior_bridge/runner/phase_runner.hpp"

namespace omnio::ior {

bool has(const model::Phase& phase, model::Operation operation);
bool isShared(const model::PhaseModel& model, const model::Phase& phase);
RunApi apiOf(const model::Phase& phase, const RunnerOptions& options);

// All but the measurements, with notes on what is run otherwise than in the application.
PhaseTest describe(const model::PhaseModel& model, const model::Phase& phase,
                   const RunnerOptions& options);

}  // namespace omnio::ior
