// A phase model as a program whose accesses are counted.
#pragma once

#include "core/model/phase_model.hpp"
#include "predict/access_time/schedule_program.hpp"

namespace omnio::access_time {

// The processes of a phase do its requests at once. Metadata calls and syncs are those that the
// phase counts, each process's share of them.
Program programOf(const model::PhaseModel& model);

}  // namespace omnio::access_time
