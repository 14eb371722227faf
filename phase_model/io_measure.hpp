// The I/O time of an application, of its ranks and phases, by the definition of
// core/event/io_time.hpp.
#pragma once

#include "core/model/phase_model.hpp"
#include "core/tracefile/trace.hpp"
#include "phase_model/step_phases.hpp"

namespace omnio::phases {

// Reads the trace, which has data phases in `steps` and in the model. Adds the metadata phases to
// both, of the calls that belong to no data phase, and fills in the times of the model and its
// phases: each is that of the rank that has most. Times count from `origin_ns`; for `longest_gap`
// see Options.
void measureIo(const tracefile::Trace& trace, std::int64_t origin_ns, std::uint64_t longest_gap,
               StepPhases& steps, model::PhaseModel& model);

}  // namespace omnio::phases
