// Many times as a few numbers: their count, sum and spread are exact, quantiles within 5 %.
#pragma once

#include <cstdint>
#include <map>

namespace omnio::predict {

// Two summaries add up to that of all their times.
class TimeSummary {
 public:
  // Times from 0 to this; longer ones count as this.
  static constexpr std::int64_t kLongestNs = std::int64_t{1} << 52;  // 52 days

  void add(std::int64_t time_ns);
  void add(const TimeSummary& other);

  std::uint64_t count() const { return count_; }
  std::int64_t totalNs() const { return total_ns_; }
  std::int64_t leastNs() const { return least_ns_; }  // 0 of none
  std::int64_t mostNs() const { return most_ns_; }
  double meanNs() const;
  // The sum of the squared distances from the mean.
  double squaresNs2() const { return squares_ns2_; }
  double deviationNs() const;  // standard deviation, of a sample; 0 of fewer than two
  // The time that this share (0 to 1) of the times does not exceed: the middle of its class of the
  // histogram, but no less than the least time and no more than the most. 0 of none.
  double quantileNs(double share) const;

  // The histogram: the number of times by class. Classes are 1 ns wide below 16 ns, and above it
  // each power of two is cut into 8 of the same width.
  static int classOf(std::int64_t time_ns);
  static std::int64_t lowerNs(int number);  // the least time of a class
  const std::map<int, std::uint64_t>& classes() const { return classes_; }

  // As a document has it. False where the parts contradict each other: the other numbers cannot be
  // those of the times in the histogram.
  bool assign(std::int64_t total_ns, std::int64_t least_ns, std::int64_t most_ns,
              double squares_ns2, std::map<int, std::uint64_t> classes);

  bool operator==(const TimeSummary&) const = default;

 private:
  std::uint64_t count_ = 0;
  std::int64_t total_ns_ = 0;
  std::int64_t least_ns_ = 0;
  std::int64_t most_ns_ = 0;
  double squares_ns2_ = 0;  // of the distances from the mean
  std::map<int, std::uint64_t> classes_;
};

}  // namespace omnio::predict
