// Puts the similar local access patterns of processes together: the phases.
//
// Similar are patterns that are equal but for their initial offset (the paper's simLAP), on the
// same file or the same family of files. The k-th of a kind in one process belongs to the k-th of
// that kind in the others: that is where their ticks correspond, also where one process has more
// MPI events between than another. Beyond the paper, contiguous patterns that are the
// k-th of their rank on the file, made in the same manner, and differ in size alone, by a factor of
// two at most, make one phase with varying requests: domains seldom divide evenly, and a phase for
// each process would not tell more.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/phase_model.hpp"
#include "phase_model/lap_stream.hpp"

namespace omnio::phases {

// f(initOffset): where each process begins, as an expression in the rank where it is one.
// Takes ranks and offsets, by rank. Affine where each is base + per_rank * rank, else the table.
model::OffsetFunction fitOffsets(std::vector<std::pair<int, std::int64_t>> offsets);

// "idP * 8 * 32 MiB + 2 * 32 MiB": multiples of the request size where they are. Without one,
// numbers as they are: "idP * 1024 + 40".
std::string textOf(const model::OffsetFunction& f, std::optional<std::uint64_t> request_bytes);

// The largest unit that divides the size: "32 MiB", "10612080 B".
std::string exactSize(std::uint64_t bytes);

// "2 * 32 MiB", or the size itself where it is not a multiple of the request size.
std::string inRequests(std::int64_t bytes, std::uint64_t request_bytes);

// `file_of` gives each pattern's index in the model's files. Phases come by the time they began,
// with their ids; times are counted from `origin_ns`. `phase_of`: by pattern, the id of its phase.
std::vector<model::Phase> groupIntoPhases(const std::vector<Lap>& laps,
                                          const std::vector<int>& file_of, std::int64_t origin_ns,
                                          std::vector<int>& phase_of);

}  // namespace omnio::phases
