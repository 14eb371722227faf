#include "core/pattern/number_series.hpp"

#include <algorithm>

#include "core/base/integers.hpp"

namespace omnio::pattern {

using base::wrappedDifference;
using base::wrappedProduct;
using base::wrappedSum;

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

std::size_t periodOf(std::span<const std::uint64_t> values) {
  // The longest part at the beginning that is at the end, too, of each beginning (Knuth, Morris
  // and Pratt): what is left of the whole is the period.
  std::vector<std::size_t> borders(values.size(), 0);
  for (std::size_t i = 1; i < values.size(); ++i) {
    std::size_t border = borders[i - 1];
    while (border > 0 && values[i] != values[border]) border = borders[border - 1];
    borders[i] = border + (values[i] == values[border] ? 1 : 0);
  }
  const std::size_t period = values.empty() ? 0 : values.size() - borders.back();
  return 2 * period <= values.size() ? period : 0;
}

bool NumberSeries::findRule(std::size_t skipped) {
  // Values that come again with a growth have steps that come again.
  std::vector<std::uint64_t> steps;
  for (std::size_t turn = skipped + 1; turn < values_.size(); ++turn) {
    steps.push_back(
        static_cast<std::uint64_t>(wrappedDifference(values_[turn], values_[turn - 1])));
  }
  const std::size_t period = periodOf(steps);
  if (period == 0) return false;
  period_ = period;
  growth_ = wrappedDifference(values_[skipped + period], values_[skipped]);
  return true;
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
