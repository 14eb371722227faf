// Whether what is predicted of a stream of reads is good enough to act on: whether the last reads
// were those that were expected, and whether what was fetched was used.
//
// After Tang et al. (Euro-Par 2014), who stop where prefetched data is not used: here below 80 % of
// the last 64 requests. It begins anew when as many reads in a row were those expected.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace omnio::prefetch {

class Trust {
 public:
  static constexpr unsigned kOutcomes = 64;
  static constexpr double kLeastUsed = 0.8;
  static constexpr double kLeastRight = 0.8;
  static constexpr std::uint64_t kFirstRight = 3;  // in a row, before anything is fetched

  // A read came, and was the one that was expected, or not.
  void saw(bool was_right) {
    constexpr double kKept = 0.9;
    right_ = kKept * right_ + (was_right ? 1 - kKept : 0);
    in_a_row_ = was_right ? in_a_row_ + 1 : 0;
    if (in_a_row_ == kFirstRight && !was_trusted_) right_ = std::max(right_, kLeastRight);
    if (in_a_row_ >= kOutcomes && !isUsed()) outcomes_ = count_ = 0;
  }
  // A request that was made is known to be used, or wasted.
  void ended(bool was_used) {
    outcomes_ = outcomes_ << 1 | (was_used ? 1U : 0U);
    count_ = std::min(count_ + 1, kOutcomes);
  }
  // It has predicted an earlier run.
  void isKnown() { right_ = 1; }

  bool holds() {
    const bool holds = right_ >= kLeastRight && isUsed();
    was_trusted_ = was_trusted_ || holds;
    return holds;
  }
  double right() const { return right_; }

 private:
  bool isUsed() const {
    // Of the first few, one that is wasted says little.
    if (count_ < kOutcomes / 4) return true;
    const std::uint64_t mask =
        count_ == kOutcomes ? ~std::uint64_t{0} : (std::uint64_t{1} << count_) - 1;
    return std::popcount(outcomes_ & mask) >= kLeastUsed * count_;
  }

  double right_ = 0;  // the part of late
  std::uint64_t in_a_row_ = 0;
  std::uint64_t outcomes_ = 0;  // the newest in the lowest bit
  unsigned count_ = 0;
  bool was_trusted_ = false;
};

}  // namespace omnio::prefetch
