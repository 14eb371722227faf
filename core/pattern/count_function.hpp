// A number of each rank as an expression in the rank and in how many ranks there are, from its
// values at one or two numbers of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace omnio::pattern {

// constant + per_count * count + shared / count
struct CountFunction {
  std::int64_t constant = 0;
  std::int64_t per_count = 0;
  std::int64_t shared = 0;  // a total that all ranks share

  // Nothing where the total cannot be shared evenly, or the value is beyond 64 bits.
  std::optional<std::int64_t> at(std::int64_t count) const;
  bool operator==(const CountFunction&) const = default;
};

// How numbers follow the number of ranks where a rank's part stays as large as it is (weak), or
// where all ranks share a total (strong).
enum class Scaling : std::uint8_t { kWeak, kStrong };

// From one value or two, at these counts. One is a constant. Returns nothing where no whole numbers
// fit. With strong scaling, a value that goes down as the count goes up shares a total.
std::optional<CountFunction> fitCounts(std::span<const std::int64_t> counts,
                                       std::span<const std::int64_t> values, Scaling scaling);

// base(count) + per_rank(count) * rank
struct RankCountFunction {
  CountFunction base;
  CountFunction per_rank;

  std::optional<std::int64_t> at(std::int64_t rank, std::int64_t count) const;
  bool operator==(const RankCountFunction&) const = default;
};

// The values at one number of ranks: those of ranks from `first` on.
struct RankValues {
  std::int64_t count = 0;
  std::int64_t first = 0;
  std::vector<std::int64_t> values;

  // The n-th value is begin + step * n. Nothing where that is not so.
  std::optional<std::int64_t> step() const;
};

// Fits all values. Returns nothing where they are not affine. Where there is one rank alone at a
// count, what its number has of the rank is taken from the other count.
std::optional<RankCountFunction> fitRanksAndCounts(std::span<const RankValues> at_counts,
                                                   Scaling scaling);

}  // namespace omnio::pattern
