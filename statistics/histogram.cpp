#include "statistics/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace omnio::stats {
namespace {

constexpr unsigned kBits = 3;  // of a value behind its highest one: eight buckets
constexpr std::uint32_t kEach = 1U << kBits;

std::uint32_t bucketOf(std::uint64_t value) {
  if (value < kEach) return static_cast<std::uint32_t>(value);
  const auto exponent = static_cast<unsigned>(std::bit_width(value)) - 1;
  const auto behind = static_cast<std::uint32_t>(value >> (exponent - kBits)) & (kEach - 1);
  return (exponent - kBits + 1) * kEach + behind;
}

// The largest value of a bucket.
std::uint64_t endOf(std::uint32_t bucket) {
  if (bucket < kEach) return bucket;
  const unsigned shift = bucket / kEach - 1;
  const std::uint64_t from = std::uint64_t{kEach + bucket % kEach} << shift;
  return from + ((std::uint64_t{1} << shift) - 1);
}

}  // namespace

std::uint64_t& Histogram::countOf(std::uint32_t number) {
  if (last_ < buckets_.size() && buckets_[last_].number == number) return buckets_[last_].count;
  const auto place = std::ranges::lower_bound(buckets_, number, {}, &Bucket::number);
  last_ = static_cast<std::size_t>(place - buckets_.begin());
  if (place == buckets_.end() || place->number != number) buckets_.insert(place, {number, 0});
  return buckets_[last_].count;
}

void Histogram::add(std::uint64_t value) { ++countOf(bucketOf(value)); }

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
