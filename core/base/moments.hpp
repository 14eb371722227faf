// Count, average, variance, minimum and maximum of a quantity, in one pass and without
// cancellation: B. P. Welford, "Note on a method for calculating corrected sums of squares and
// products" (1962); two are put together after Chan, Golub and LeVeque, "Updating formulae and a
// pairwise algorithm for computing sample variances" (1979).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace omnio::base {

class Moments {
 public:
  void add(double value) {
    least_ = count_ == 0 ? value : std::min(least_, value);
    most_ = count_ == 0 ? value : std::max(most_, value);
    ++count_;
    const double distance = value - average_;
    average_ += distance / static_cast<double>(count_);
    squares_ += distance * (value - average_);
  }
  void add(const Moments& other) {
    if (other.count_ == 0) return;
    if (count_ == 0) {
      *this = other;
      return;
    }
    const auto own = static_cast<double>(count_);
    const auto theirs = static_cast<double>(other.count_);
    const double distance = other.average_ - average_;
    average_ += distance * theirs / (own + theirs);
    squares_ += other.squares_ + distance * distance * own * theirs / (own + theirs);
    count_ += other.count_;
    least_ = std::min(least_, other.least_);
    most_ = std::max(most_, other.most_);
  }

  std::uint64_t count() const { return count_; }
  double average() const { return average_; }
  // Divides by the count: the values are the whole population, not a sample.
  double variance() const { return count_ == 0 ? 0 : squares_ / static_cast<double>(count_); }
  double deviation() const { return std::sqrt(variance()); }  // standard deviation
  double least() const { return least_; }
  double most() const { return most_; }

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(count_, average_, squares_, least_, most_);
  }

 private:
  std::uint64_t count_ = 0;
  double average_ = 0;
  double squares_ = 0;  // of the distances from the average
  double least_ = 0;
  double most_ = 0;
};

}  // namespace omnio::base
