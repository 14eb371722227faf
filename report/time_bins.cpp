#include "report/time_bins.hpp"

#include <algorithm>

namespace omnio::report {

void TimeBins::widen() {
  ++shift_;
  for (std::vector<std::uint64_t>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::uint64_t value = row[i];
      row[i] = 0;
      row[i / 2] += value;
    }
    row.resize((row.size() + 1) / 2);
  }
}

void TimeBins::widenTo(std::int64_t bin_ns) {
  while (binNs() < bin_ns) widen();
}

void TimeBins::spread(std::size_t row, std::int64_t start_ns, std::int64_t end_ns,
                      std::uint64_t amount) {
  if (amount == 0) return;
  // No run lasts for ten years: a time beyond that is damage.
  constexpr std::int64_t kMost = std::int64_t{10} * 365 * 24 * 3600 * 1'000'000'000;
  start_ns = std::clamp<std::int64_t>(start_ns, 0, kMost);
  end_ns = std::clamp(end_ns, start_ns, kMost);
  while (end_ns >> shift_ >= static_cast<std::int64_t>(kMostBins)) widen();
  const auto first = static_cast<std::size_t>(start_ns >> shift_);
  const auto last = static_cast<std::size_t>(end_ns >> shift_);
  std::vector<std::uint64_t>& sums = rows_[row];
  if (sums.size() <= last) sums.resize(last + 1);
  if (first == last) {
    sums[first] += amount;
    return;
  }
  const double each = static_cast<double>(amount) / static_cast<double>(end_ns - start_ns);
  std::uint64_t given = 0;
  for (std::size_t bin = first; bin < last; ++bin) {
    const std::int64_t until = static_cast<std::int64_t>(bin + 1) << shift_;
    const auto by_then =
        std::min(amount, static_cast<std::uint64_t>(each * static_cast<double>(until - start_ns)));
    sums[bin] += by_then - given;
    given = by_then;
  }
  sums[last] += amount - given;
}

void TimeBins::add(const TimeBins& other) {
  widenTo(other.binNs());
  TimeBins same = other;
  same.widenTo(binNs());
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row].size() < same.rows_[row].size()) rows_[row].resize(same.rows_[row].size());
    for (std::size_t bin = 0; bin < same.rows_[row].size(); ++bin) {
      rows_[row][bin] += same.rows_[row][bin];
    }
  }
}

}  // namespace omnio::report
