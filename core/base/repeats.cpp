#include "core/base/repeats.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace omnio::base {
namespace {

constexpr double kLevel = 0.05;

// The logarithms of the values are what is counted and averaged here.
struct Moments {
  double count = 0;
  double mean = 0;
  double variance = 0;  // of the sample
};

Moments momentsOf(const std::vector<double>& values) {
  Moments m;
  m.count = static_cast<double>(values.size());
  const auto [least, most] = std::ranges::minmax(values);
  if (least == most) {  // exactly, where a sum would be rounded
    m.mean = std::log(std::max(least, kShortest));
    return m;
  }
  for (const double value : values) m.mean += std::log(std::max(value, kShortest)) / m.count;
  for (const double value : values) {
    const double off = std::log(std::max(value, kShortest)) - m.mean;
    m.variance += off * off / std::max(1.0, m.count - 1);
  }
  return m;
}

// Student's t that is exceeded, to either side, with probability `level`.
double quantile(double freedom, double level) {
  return boost::math::quantile(
      boost::math::complement(boost::math::students_t(freedom), level / 2));
}

Interval around(double mean, double half) {
  return {.least = std::exp(mean - half), .most = std::exp(mean + half)};
}

}  // namespace

Measure measureOf(const std::vector<double>& values) {
  const Moments m = momentsOf(values);
  Measure measure{.runs = values.size(), .middle = std::exp(m.mean), .interval = {}};
  if (values.size() < 2) return measure;
  measure.interval =
      around(m.mean, quantile(m.count - 1, kLevel) * std::sqrt(m.variance / m.count));
  return measure;
}

Ratio ratioOf(const std::vector<double>& first, const std::vector<double>& second, double level) {
  const Moments a = momentsOf(first);
  const Moments b = momentsOf(second);
  Ratio ratio{.middle = std::exp(a.mean - b.mean), .interval = {}};
  if (first.size() < 2 || second.size() < 2) return ratio;
  const double of_a = a.variance / a.count;
  const double of_b = b.variance / b.count;
  const double sum = of_a + of_b;
  if (!(sum > 0)) {  // runs that took the same to the last digit
    ratio.interval = {.least = ratio.middle, .most = ratio.middle};
    return ratio;
  }
  // Welch's degrees of freedom.
  const double freedom = sum * sum / (of_a * of_a / (a.count - 1) + of_b * of_b / (b.count - 1));
  ratio.interval = around(a.mean - b.mean, quantile(freedom, level) * std::sqrt(sum));
  return ratio;
}

Ratio ratioByRounds(const std::vector<double>& first, const std::vector<double>& second,
                    double level) {
  std::vector<double> ratios(std::min(first.size(), second.size()));
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    ratios[i] = std::max(first[i], kShortest) / std::max(second[i], kShortest);
  }
  if (ratios.empty()) return {};
  const Moments m = momentsOf(ratios);
  Ratio ratio{.middle = std::exp(m.mean), .interval = {}};
  if (ratios.size() < 2) return ratio;
  ratio.interval = around(m.mean, quantile(m.count - 1, level) * std::sqrt(m.variance / m.count));
  return ratio;
}

double medianOf(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace omnio::base
