// Numbers by rank as an expression in the rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/pattern/part.hpp"

namespace omnio::pattern {

// Affine: base + per_rank * rank. Where ranks make a grid, as in domain decompositions, there is a
// distance for each of its dimensions, of which the first is that of neighbouring ranks; the last
// one has no bound.
struct RankFunction {
  std::int64_t base = 0;
  std::int64_t per_rank = 0;    // 0 with a grid
  std::vector<Dimension> grid;  // none where it is affine

  std::int64_t at(int rank) const;
  bool operator==(const RankFunction&) const = default;
};

// Takes ranks, ascending, and their numbers. Affine where it can be; a grid only of all ranks from
// 0 on, four at least. Nothing: it is neither.
std::optional<RankFunction> fitRanks(const std::vector<std::pair<int, std::int64_t>>& numbers);

}  // namespace omnio::pattern
