// Counts how often, and how well, operations were predicted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace omnio::predict {

// The next 1, 2, 4, ... operations.
inline constexpr std::size_t kMostAhead = 64;
inline constexpr std::size_t kMostDistances = 7;  // 1, 2, 4, ..., kMostAhead

// What one predictor said of operations, beside what they were. Sums, so that scores can be added.
struct Score {
  std::uint64_t operations = 0;
  std::uint64_t contexts_right = 0;  // call and file, told before the operation came
  std::uint64_t whole_right = 0;     // and with them size and offset
  // Of transfers whose size is known, once their context is: how many sizes were right, and the sum
  // of |predicted - observed| / observed over those that moved bytes.
  std::uint64_t sized = 0;
  std::uint64_t sizes_right = 0;
  std::uint64_t size_errors = 0;
  double size_error = 0;
  // Of transfers that moved bytes and whose offset is known, once their context is.
  std::uint64_t placed = 0;
  std::uint64_t offsets_right = 0;
  // Hit ratios of segments in percent, by distance: that of each operation is the mean over the
  // predictions that were made 1, 2, ... up to so many operations before it. `hits`: how many
  // operations these sums are of.
  std::uint64_t hits = 0;
  std::array<double, kMostDistances> hit{};
  // The time from an operation to the next.
  std::uint64_t gaps = 0;
  double gap_ns = 0;
  double gap_said_ns = 0;
  double gap_error_ns = 0;

  void add(const Score& other);
};

// The part in percent; 0 of nothing.
inline double percent(double part, std::uint64_t all) {
  return all == 0 ? 0 : 100 * part / static_cast<double>(all);
}
inline double percent(std::uint64_t part, std::uint64_t all) {
  return percent(static_cast<double>(part), all);
}

// Where the learning of a grammar has come to.
//
// A period has been seen as a whole when the grammar stops growing: after the last time that its
// number of symbols reached a new maximum. Growth in the last twentieth of a run does not count: it
// is the end of the program. So a growth counts as the last one when a twentieth more operations
// have come after it.
class Learning {
 public:
  // After each operation. Whether the grammar has grown.
  void take(std::uint64_t operations, std::size_t symbols);

  // Scores are kept for the time after the last growth that counts, and for that after the very
  // last one. These are told apart by numbers; they are the same where no growth came since.
  std::uint32_t settled() const { return settled_; }
  std::uint32_t pending() const { return pending_; }
  std::uint64_t settledAt() const { return settled_at_; }  // operations before

  // At the end: whether it has stopped growing.
  bool hasStopped(std::uint64_t operations) const;

 private:
  static bool isLate(std::uint64_t at, std::uint64_t operations) {
    return operations * 19 < at * 20;
  }

  std::size_t most_symbols_ = 0;
  std::uint32_t settled_ = 0;
  std::uint32_t pending_ = 0;
  std::uint64_t settled_at_ = 0;
  std::uint64_t pending_at_ = 0;  // the last growth
  std::uint64_t growing_at_ = 0;  // the first growth since the last one that counts
};

// The scores of the whole run, and of the time after the first period.
class PhasedScore {
 public:
  void add(const Score& one, const Learning& learning);
  const Score& whole() const { return whole_; }
  Score settled(const Learning& learning);

 private:
  void keepUp(const Learning& learning);

  Score whole_;
  Score settled_score_;
  Score pending_score_;
  std::uint32_t settled_ = 0;
  std::uint32_t pending_ = 0;
};

}  // namespace omnio::predict
