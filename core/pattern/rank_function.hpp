// A number of each rank (an offset in bytes, say) as an expression in the rank.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/pattern/part.hpp"

namespace omnio::pattern {

// Affine: base + per_rank * rank. Ranks in a grid (a domain decomposition) have a stride for each
// dimension of the grid. The first dimension is that of neighbouring ranks; the last has no limit.
struct RankFunction {
  std::int64_t base = 0;
  std::int64_t per_rank = 0;    // 0 with a grid
  std::vector<Dimension> grid;  // none where it is affine

  std::int64_t at(int rank) const;
  bool operator==(const RankFunction&) const = default;
};

// Fits ranks (ascending) and their numbers: affine if possible, else a grid of all ranks from 0 on,
// at least four. Returns nothing when neither fits.
std::optional<RankFunction> fitRanks(const std::vector<std::pair<int, std::int64_t>>& numbers);

}  // namespace omnio::pattern
