#include "predict/calibration/time_summary.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace omnio::predict {
namespace {

// Below this, a class is 1 ns wide; above it there are kParts classes to a power of two.
constexpr int kExact = 16;
constexpr int kExactBits = 4;
constexpr int kParts = 8;
constexpr int kPartBits = 3;

}  // namespace

int TimeSummary::classOf(std::int64_t time_ns) {
  const auto time = static_cast<std::uint64_t>(std::clamp(time_ns, std::int64_t{0}, kLongestNs));
  if (time < kExact) return static_cast<int>(time);
  const int bits = std::bit_width(time) - 1;
  const auto part = static_cast<int>(time >> (bits - kPartBits)) - kParts;
  return kExact + (bits - kExactBits) * kParts + part;
}

std::int64_t TimeSummary::lowerNs(int number) {
  if (number < kExact) return number;
  const int power = (number - kExact) / kParts + kExactBits;
  const std::int64_t part = (number - kExact) % kParts;
  return (kParts + part) << (power - kPartBits);
}

void TimeSummary::add(std::int64_t time_ns) {
  const std::int64_t time = std::clamp(time_ns, std::int64_t{0}, kLongestNs);
  const double before = meanNs();
  least_ns_ = count_ == 0 ? time : std::min(least_ns_, time);
  most_ns_ = std::max(most_ns_, time);
  ++count_;
  total_ns_ += time;
  // B. P. Welford, "Note on a method for calculating corrected sums of squares and products",
  // Technometrics 4, 1962.
  const auto value = static_cast<double>(time);
  squares_ns2_ += (value - before) * (value - meanNs());
  ++classes_[classOf(time)];
}

void TimeSummary::add(const TimeSummary& other) {
  if (other.count_ == 0) return;
  if (count_ == 0) {
    *this = other;
    return;
  }
  const auto mine = static_cast<double>(count_);
  const auto others = static_cast<double>(other.count_);
  const double distance = other.meanNs() - meanNs();
  squares_ns2_ += other.squares_ns2_ + distance * distance * mine * others / (mine + others);
  least_ns_ = std::min(least_ns_, other.least_ns_);
  most_ns_ = std::max(most_ns_, other.most_ns_);
  count_ += other.count_;
  total_ns_ += other.total_ns_;
  for (const auto& [number, count] : other.classes_) classes_[number] += count;
}

double TimeSummary::meanNs() const {
  return count_ == 0 ? 0 : static_cast<double>(total_ns_) / static_cast<double>(count_);
}

double TimeSummary::deviationNs() const {
  return count_ < 2 ? 0 : std::sqrt(squares_ns2_ / static_cast<double>(count_ - 1));
}

double TimeSummary::quantileNs(double share) const {
  const double wanted = std::clamp(share, 0.0, 1.0) * static_cast<double>(count_);
  double so_far = 0;
  for (const auto& [number, count] : classes_) {
    so_far += static_cast<double>(count);
    if (so_far < wanted) continue;
    const std::int64_t width = lowerNs(number + 1) - lowerNs(number);
    const double middle = static_cast<double>(lowerNs(number)) + static_cast<double>(width - 1) / 2;
    return std::clamp(middle, static_cast<double>(least_ns_), static_cast<double>(most_ns_));
  }
  return static_cast<double>(most_ns_);
}

bool TimeSummary::assign(std::int64_t total_ns, std::int64_t least_ns, std::int64_t most_ns,
                         double squares_ns2, std::map<int, std::uint64_t> classes) {
  __int128 count = 0;
  __int128 least_total = 0;
  __int128 most_total = 0;
  for (const auto& [number, times] : classes) {
    if (number < 0 || number > classOf(kLongestNs) || times == 0) return false;
    count += times;
    least_total += static_cast<__int128>(times) * lowerNs(number);
    most_total += static_cast<__int128>(times) * (lowerNs(number + 1) - 1);
  }
  const bool has_ends = classes.empty() ? least_ns == 0 && most_ns == 0
                                        : classOf(least_ns) == classes.begin()->first &&
                                              classOf(most_ns) == classes.rbegin()->first;
  const auto width = static_cast<double>(most_ns - least_ns);
  const bool has_spread =
      squares_ns2 >= 0 && squares_ns2 <= width * width * static_cast<double>(count);
  if (count > kLongestNs || total_ns < least_total || total_ns > most_total || !has_ends ||
      least_ns > most_ns || least_ns < 0 || most_ns > kLongestNs || !has_spread) {
    return false;
  }
  count_ = static_cast<std::uint64_t>(count);
  total_ns_ = total_ns;
  least_ns_ = least_ns;
  most_ns_ = most_ns;
  squares_ns2_ = squares_ns2;
  classes_ = std::move(classes);
  return true;
}

}  // namespace omnio::predict
