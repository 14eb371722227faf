// f(initOffset): where each process begins, as an expression in the rank where it is one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/model/phase_model.hpp"

namespace omnio::phases {

// Of rank and offset, by rank. Affine where all offsets are base + per_rank * rank, else the table.
model::OffsetFunction fitOffsets(std::vector<std::pair<int, std::int64_t>> offsets);

// "idP * 8 * 32 MiB + 2 * 32 MiB": multiples of the request size where they are.
std::string textOf(const model::OffsetFunction& f, std::uint64_t request_bytes);

// The largest unit that divides the size: "32 MiB", "10612080 B".
std::string exactSize(std::uint64_t bytes);

// "2 * 32 MiB", or the size itself where it is no multiple of the request size.
std::string inRequests(std::int64_t bytes, std::uint64_t request_bytes);

}  // namespace omnio::phases
