#include "core/pattern/number_series.hpp"

#include <algorithm>

namespace omnio::pattern {
namespace {

// Sums wrap around at 64 bits, as those of the finder of nests do.
std::int64_t wrappedSum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::int64_t wrappedDifference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

std::int64_t wrappedProduct(std::int64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * b);
}

}  // namespace

void NumberSeries::add(std::int64_t value) {
  if (count_ == 0) first_ = value;
  if (count_ == 1) step_ = wrappedDifference(value, first_);
  if (values_.empty() && count_ > 1 && value != wrappedSum(first_, wrappedProduct(step_, count_))) {
    for (std::uint64_t turn = 0; turn < count_; ++turn) {
      values_.push_back(wrappedSum(first_, wrappedProduct(step_, turn)));
    }
  }
  if (!values_.empty()) values_.push_back(value);
  ++count_;
}

bool NumberSeries::findRule(std::size_t skipped) {
  constexpr std::size_t kMostPeriod = 4096;
  const std::size_t seen = values_.size() - std::min(values_.size(), skipped);
  for (std::size_t period = 1; period <= kMostPeriod && 2 * period + 1 <= seen; ++period) {
    const std::int64_t growth = wrappedDifference(values_[skipped + period], values_[skipped]);
    bool holds = true;
    for (std::size_t turn = skipped + period; turn < values_.size() && holds; ++turn) {
      holds = wrappedDifference(values_[turn], values_[turn - period]) == growth;
    }
    if (!holds) continue;
    period_ = period;
    growth_ = growth;
    return true;
  }
  return false;
}

void NumberSeries::settle() {
  constexpr std::size_t kMostSkipped = 2;
  for (std::size_t skipped = 0; skipped <= kMostSkipped && !values_.empty(); ++skipped) {
    if (findRule(skipped)) return;
  }
}

std::int64_t NumberSeries::at(std::uint64_t turn) const {
  if (values_.empty()) return wrappedSum(first_, wrappedProduct(step_, turn));
  if (turn < values_.size()) return values_[turn];
  if (period_ == 0) return values_.back();
  const std::uint64_t back = (turn - values_.size()) / period_ + 1;
  return wrappedSum(values_[turn - back * period_], wrappedProduct(growth_, back));
}

}  // namespace omnio::pattern
