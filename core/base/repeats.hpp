// Repeated runs: how much they vary, and whether two sets of them differ.
//
// Times of repeated runs are compared by their logarithms, since they vary by a share of
// themselves: their mean is that of the geometric mean, and a difference is a ratio. The 95 %
// interval of a set is Student's. Two sets are compared by Welch's t (B. L. Welch, "The
// generalization of Student's problem when several different population variances are involved",
// Biometrika 34, 1947), and sets whose runs were made in turns by Student's t of their differences.
// For several pairs, or several looks at one, divide the level by their number (Bonferroni): then a
// difference among equals is found at most that often in all of them together.
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
// `level`: the chance that the interval has not the ratio in it.
Ratio ratioOf(const std::vector<double>& first, const std::vector<double>& second, double level);
// The same where the n-th runs of both were made one right after the other, so that what changed
// meanwhile was the same for both. Runs beyond those of the shorter set are left out.
Ratio ratioByRounds(const std::vector<double>& first, const std::vector<double>& second,
                    double level);

// The level of one pair where 5 % are that of all.
inline double levelOfPair(std::size_t pairs) {
  return 0.05 / static_cast<double>(pairs < 1 ? 1 : pairs);
}

// Half of the values are at most this; of an even number it is the mean of the two in the middle.
double medianOf(std::vector<double> values);

}  // namespace omnio::base
