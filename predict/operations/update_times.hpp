// How long updates of models take: their median, which a busy machine moves little.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace omnio::predict {

class UpdateTimes {
 public:
  void add(std::uint64_t ns) { ++counts_[bucketOf(ns)]; }
  void add(const UpdateTimes& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  }

  // In ns, at most an eighth too large; nothing where none was measured.
  std::optional<std::uint64_t> median() const {
    std::uint64_t all = 0;
    for (const std::uint64_t count : counts_) all += count;
    if (all == 0) return std::nullopt;
    std::uint64_t below = 0;
    std::size_t bucket = 0;
    while ((below += counts_[bucket]) * 2 < all) ++bucket;
    return endOf(bucket);
  }

 private:
  // Eight for each power of two; times below 8 ns have one each.
  static constexpr std::size_t kBuckets = 320;
  static std::size_t bucketOf(std::uint64_t ns) {
    if (ns < 8) return static_cast<std::size_t>(ns);
    const auto power = static_cast<std::size_t>(std::bit_width(ns)) - 1;  // at least 3
    return std::min<std::size_t>((power - 2) * 8 + (ns >> (power - 3) & 7), kBuckets - 1);
  }
  static std::uint64_t endOf(std::size_t bucket) {
    if (bucket < 8) return bucket;
    const std::size_t power = bucket / 8 + 2;
    return ((8 + bucket % 8 + 1) << (power - 3)) - 1;
  }

  std::array<std::uint64_t, kBuckets> counts_{};
};

}  // namespace omnio::predict
