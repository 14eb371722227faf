// The I/O time of an application, of its ranks and phases, by the definition of
// core/event/io_time.hpp.
#pragma once

#include "core/model/phase_model.hpp"
#include "core/tracefile/trace.hpp"
#include "phase_model/step_phases.hpp"

namespace omnio::phases {

// Reads the trace, and fills in the times of the model and its phases: each is that of the rank
// that has most.
void measureIo(const tracefile::Trace& trace, const StepPhases& steps, model::PhaseModel& model);

}  // namespace omnio::phases
