// How late operations started: sum, maximum and a histogram fine enough for percentiles. Buckets
// double eight times slower than powers of two: a percentile is at most 12.5 % too large.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace omnio::replay {

class Lateness {
 public:
  // Negative: it started before it was due by the resolution of the clock; counts as 0.
  void add(std::int64_t late_ns);
  void merge(const Lateness& other);

  std::uint64_t count() const { return count_; }
  std::int64_t max() const { return max_; }
  double mean() const;
  // The smallest bucket's upper end that `share` (0 to 1) of all do not exceed, max() at most.
  std::int64_t percentile(double share) const;

 private:
  static constexpr std::size_t kSubBits = 3;
  static constexpr std::size_t kBuckets = (64 - kSubBits) << kSubBits;
  static std::size_t bucketOf(std::uint64_t value);
  static std::uint64_t upperEnd(std::size_t bucket);

  std::uint64_t count_ = 0;
  std::int64_t max_ = 0;
  double sum_ = 0;
  std::array<std::uint64_t, kBuckets> buckets_{};
};

}  // namespace omnio::replay
