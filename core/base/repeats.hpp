// Repeated runs: how much they vary, and whether two sets of them differ.
//
// Times of repeated runs are compared by their logarithms, since they vary by a share of
// themselves: their mean is that of the geometric mean, and a difference is a ratio. The 95 %
// interval of a set is Student's. Two sets are compared by Welch's t (B. L. Welch, "The
// generalization of Student's problem when several different population variances are involved",
// Biometrika 34, 1947); the level is divided by the number of pairs (Bonferroni), so that among any
// number of equal pairs a difference is found in at most 5 % of all comparisons.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace omnio::base {

// The two ends of a 95 % interval. Not there: of one run nothing is known.
struct Interval {
  double least = 0;
  double most = 0;
};

struct Measure {
  std::size_t runs = 0;
  double middle = 0;  // geometric mean
  std::optional<Interval> interval;
};
// There is at least one value. A value below kShortest counts as that.
Measure measureOf(const std::vector<double>& values);

// A clock tick in seconds: what is measured may take no time that a clock shows.
inline constexpr double kShortest = 1e-9;

// How many times as long as the second the first takes.
struct Ratio {
  double middle = 1;
  std::optional<Interval> interval;

  // Whether the first takes longer, or less long, than the second, surely.
  bool isSlower() const { return interval && interval->least > 1; }
  bool isFaster() const { return interval && interval->most < 1; }
};
// `pairs`: that are compared at a time.
Ratio ratioOf(const std::vector<double>& first, const std::vector<double>& second,
              std::size_t pairs);

// Half of the values are at most this; of an even number it is the mean of the two in the middle.
double medianOf(std::vector<double> values);

}  // namespace omnio::base
