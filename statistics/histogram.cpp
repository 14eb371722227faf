#include "statistics/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace omnio::stats {

std::uint64_t Histogram::endOf(std::uint32_t bucket) {
  if (bucket < kEach) return bucket;
  const unsigned shift = bucket / kEach - 1;
  const std::uint64_t from = std::uint64_t{kEach + bucket % kEach} << shift;
  return from + ((std::uint64_t{1} << shift) - 1);
}

std::uint64_t& Histogram::countOf(std::uint32_t number) {
  const auto place = std::ranges::lower_bound(buckets_, number, {}, &Bucket::number);
  last_ = static_cast<std::size_t>(place - buckets_.begin());
  if (place == buckets_.end() || place->number != number) buckets_.insert(place, {number, 0});
  return buckets_[last_].count;
}

void Histogram::add(const Histogram& other) {
  for (const Bucket& bucket : other.buckets_) countOf(bucket.number) += bucket.count;
}

std::uint64_t Histogram::quantile(double part) const {
  std::uint64_t all = 0;
  for (const Bucket& bucket : buckets_) all += bucket.count;
  const auto wanted = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(all)));
  std::uint64_t seen = 0;
  for (const Bucket& bucket : buckets_) {
    seen += bucket.count;
    if (seen >= wanted) return endOf(bucket.number);
  }
  return 0;
}

std::vector<Histogram::Bin> Histogram::powersOfTwo() const {
  std::vector<Bin> bins;
  for (const Bucket& bucket : buckets_) {
    const std::uint64_t value = endOf(bucket.number);
    const std::uint64_t from = std::bit_floor(value);
    if (bins.empty() || bins.back().from != from) {
      bins.push_back({from, value == 0 ? 0 : from + (from - 1), 0});
    }
    bins.back().count += bucket.count;
  }
  return bins;
}

}  // namespace omnio::stats
