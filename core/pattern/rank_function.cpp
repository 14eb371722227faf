#include "core/pattern/rank_function.hpp"

#include <algorithm>

#include "core/pattern/loop_finder.hpp"

namespace omnio::pattern {

std::int64_t RankFunction::at(int rank) const {
  if (grid.empty()) return base + per_rank * rank;
  std::int64_t number = base;
  auto rest = static_cast<std::uint64_t>(rank);
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const bool last = i + 1 == grid.size();
    const std::uint64_t digit = last ? rest : rest % grid[i].count;
    number += static_cast<std::int64_t>(digit) * grid[i].stride;
    rest /= grid[i].count;
  }
  return number;
}

namespace {

std::optional<RankFunction> affineOf(const std::vector<std::pair<int, std::int64_t>>& numbers) {
  const auto [first_rank, first] = numbers.front();
  const auto [last_rank, last] = numbers.back();
  const std::int64_t ranks = last_rank - first_rank;
  RankFunction f;
  f.per_rank = ranks == 0 ? 0 : (last - first) / ranks;
  std::int64_t furthest = 0;
  if (__builtin_mul_overflow(f.per_rank, last_rank, &furthest) ||
      __builtin_sub_overflow(first, f.per_rank * first_rank, &f.base)) {
    return {};
  }
  const auto fits = [&f](const auto& entry) { return f.at(entry.first) == entry.second; };
  if (!std::all_of(numbers.begin(), numbers.end(), fits)) return {};
  return f;
}

}  // namespace

std::optional<RankFunction> fitRanks(const std::vector<std::pair<int, std::int64_t>>& numbers) {
  if (numbers.empty()) return RankFunction{};
  if (auto affine = affineOf(numbers)) return affine;
  constexpr std::size_t kLeast = 4;  // any three numbers fit a grid
  if (numbers.size() < kLeast || numbers.front().first != 0 ||
      numbers.back().first + 1 != static_cast<int>(numbers.size())) {
    return {};
  }
  LoopFinder finder;
  for (const auto& [rank, number] : numbers) finder.add(number, 1);
  const bool gave_up = finder.gaveUp();
  const std::vector<Part> parts = finder.finish();
  if (gave_up || parts.size() != 1) return {};
  RankFunction f{
      .base = numbers.front().second, .per_rank = 0, .grid = dimensionsOf(parts.front())};
  if (f.grid.empty()) return {};
  return f;
}

}  // namespace omnio::pattern
