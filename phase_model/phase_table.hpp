// A phase model for people: the tables of the paper (Table VIII, Table XI).
#pragma once

#include <string>

#include "core/model/phase_model.hpp"

namespace omnio::phases {

// Phases that differ in nothing but their place in the file, or the numbers in its name, stand in
// one line, as the 40 of BT-IO do in the paper.
std::string textOf(const model::PhaseModel& model);

}  // namespace omnio::phases
