// Sums over the time of a run, in bins of one width, whatever its length: the width doubles when
// the run grows beyond the last bin.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace omnio::report {

class TimeBins {
 public:
  static constexpr std::size_t kMostBins = 512;  // an even number

  // Each of `rows` rows has its own sums.
  explicit TimeBins(std::size_t rows) : rows_(rows) {}

  // Adds `amount` to a row, spread evenly over the time from `start_ns` to `end_ns`, to the last
  // unit: the sum over the bins is what was added. Times are from the start of the run; those
  // before it count as 0.
  void spread(std::size_t row, std::int64_t start_ns, std::int64_t end_ns, std::uint64_t amount);
  // The time itself, in ns.
  void addTime(std::size_t row, std::int64_t start_ns, std::int64_t end_ns) {
    if (end_ns > start_ns)
      spread(row, start_ns, end_ns, static_cast<std::uint64_t>(end_ns - start_ns));
  }
  // `other` has as many rows.
  void add(const TimeBins& other);

  std::int64_t binNs() const { return std::int64_t{1} << shift_; }
  // Makes bins at least so wide. Widths are powers of two.
  void widenTo(std::int64_t bin_ns);
  // One for each bin up to the last that is not empty; empty where nothing was added.
  const std::vector<std::uint64_t>& row(std::size_t row) const { return rows_[row]; }
  std::size_t rows() const { return rows_.size(); }

 private:
  void widen();

  unsigned shift_ = 10;  // of the width
  std::vector<std::vector<std::uint64_t>> rows_;
};

}  // namespace omnio::report
