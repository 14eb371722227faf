#include "replay/run/lateness.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace omnio::replay {

std::size_t Lateness::bucketOf(std::uint64_t value) {
  constexpr std::uint64_t kExact = 1U << kSubBits;
  if (value < kExact) return static_cast<std::size_t>(value);
  const auto shift = static_cast<std::size_t>(std::bit_width(value)) - kSubBits - 1;
  return ((shift + 1) << kSubBits) + static_cast<std::size_t>((value >> shift) - kExact);
}

std::uint64_t Lateness::upperEnd(std::size_t bucket) {
  constexpr std::size_t kExact = std::size_t{1} << kSubBits;
  if (bucket < kExact) return bucket;
  const std::size_t shift = (bucket >> kSubBits) - 1;
  return ((std::uint64_t{bucket % kExact} + kExact + 1) << shift) - 1;
}

void Lateness::add(std::int64_t late_ns) {
  const std::int64_t value = std::max<std::int64_t>(late_ns, 0);
  ++count_;
  sum_ += static_cast<double>(value);
  max_ = std::max(max_, value);
  ++buckets_[std::min(bucketOf(static_cast<std::uint64_t>(value)), kBuckets - 1)];
}

void Lateness::merge(const Lateness& other) {
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
}

double Lateness::mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

std::int64_t Lateness::percentile(double share) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= wanted && seen > 0) {
      return std::min(static_cast<std::int64_t>(upperEnd(i)), max_);
    }
  }
  return max_;
}

}  // namespace omnio::replay
