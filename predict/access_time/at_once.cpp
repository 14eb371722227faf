#include "predict/access_time/at_once.hpp"

#include <algorithm>

namespace omnio::access_time {

std::size_t AtOnce::instantAt(std::int64_t ns) const {
  const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
  return static_cast<std::size_t>((time + (std::uint64_t{1} << shift_) - 1) >> shift_);
}

void AtOnce::add(std::int64_t start_ns, std::int64_t end_ns) {
  // Every other instant goes when there are too many.
  while (instantAt(end_ns) >= kMostInstants) {
    std::vector<std::int64_t> kept((changes_.size() + 2) / 2);
    for (std::size_t i = 0; i < changes_.size(); ++i) kept[(i + 1) / 2] += changes_[i];
    changes_ = std::move(kept);
    ++shift_;
  }
  const std::size_t begin = instantAt(start_ns), end = instantAt(end_ns);
  if (changes_.size() <= end) changes_.resize(end + 1);
  if (begin >= end) return;
  ++changes_[begin];
  --changes_[end];
}

void AtOnce::finish() {
  sums_.assign(1, 0);
  squares_.assign(1, 0);
  std::int64_t number = 0;
  for (const std::int64_t change : changes_) {
    number += change;
    const auto now = static_cast<std::uint64_t>(number);
    sums_.push_back(sums_.back() + now);
    squares_.push_back(squares_.back() + now * now);
  }
}

double AtOnce::during(std::int64_t start_ns, std::int64_t end_ns) const {
  constexpr std::uint64_t kEnough = 16;
  const std::size_t all = changes_.size();
  std::size_t begin = std::min(instantAt(start_ns), all), end = std::min(instantAt(end_ns), all);
  for (std::size_t more = 1; sums_[end] - sums_[begin] < kEnough && end - begin < all; more *= 2) {
    begin -= std::min(begin, more);
    end = std::min(end + more, all);
  }
  const std::uint64_t sum = sums_[end] - sums_[begin];
  if (sum == 0) return 1;
  return static_cast<double>(squares_[end] - squares_[begin]) / static_cast<double>(sum);
}

}  // namespace omnio::access_time
