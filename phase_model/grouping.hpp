// Puts the similar local access patterns of processes together: the phases.
//
// Similar are patterns that are equal but for their initial offset (the paper's simLAP), on the
// same file or the same family of files. The k-th of a kind in one process belongs to the k-th of
// that kind in the others: that is where their ticks correspond, also where one process has more
// MPI events between than another. Beyond the paper, contiguous patterns that are the
// k-th of their rank on the file, made in the same manner, and differ in size alone, by a factor of
// two at most, make one phase with varying requests: domains seldom divide evenly, and a phase for
// each process would tell nobody more.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/phase_model.hpp"
#include "phase_model/rank_patterns.hpp"

namespace omnio::phases {

// `file_of` gives each pattern's index in the model's files. Phases come by the time they began,
// with their ids; times are counted from `origin_ns`.
std::vector<model::Phase> groupIntoPhases(std::vector<Lap> laps, const std::vector<int>& file_of,
                                          std::int64_t origin_ns);

}  // namespace omnio::phases
