// A phase model of more processes than were traced.
//
// Two models of one program at different numbers of processes decide how each of their numbers
// grows with np: constant, as np, as 1 / np, and offsets also as a + b * np. One model decides
// less: a stride of four requests may be one of all four processes. What is not decided, or grows
// otherwise (domains cut by the square root of np), is refused by name.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/phase_model.hpp"

namespace omnio::phases {

enum class Scaling : std::uint8_t {
  kWeak,    // each process moves as much, whatever their number
  kStrong,  // all of them together do
};

// Takes one model, or two with different numbers of processes. The new model has no times and no
// schedule; `left_out` names the laws. Fails with one sentence that names the phase, its file, the
// number and its values; nothing is written.
base::Result<model::PhaseModel> growModel(const std::vector<model::PhaseModel>& models,
                                          int processes, Scaling scaling);

}  // namespace omnio::phases
