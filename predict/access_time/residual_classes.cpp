#include "predict/access_time/residual_classes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

#include "predict/access_time/time_model.hpp"

namespace omnio::access_time {

namespace {

constexpr double kWidth = 1.0 / 16, kLowest = -16;

class Component {
 public:
  Component(double weight, double mean, double deviation)
      : mean_(mean),
        deviation_(deviation),
        log_height_(std::log(weight / (deviation * std::sqrt(2 * std::numbers::pi)))) {}

  double mean() const { return mean_; }
  double logDensity(double at) const {
    const double z = (at - mean_) / deviation_;
    return log_height_ - z * z / 2;
  }

 private:
  double mean_, deviation_, log_height_;
};
using Mixture = std::vector<Component>;

double logSum(double a, double b) {
  if (std::min(a, b) == -std::numeric_limits<double>::infinity()) return std::max(a, b);
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

double logDensity(const Mixture& mixture, double at) {
  double sum = -std::numeric_limits<double>::infinity();
  for (const Component& component : mixture) sum = logSum(sum, component.logDensity(at));
  return sum;
}

// One step of EM, and the logarithm of the likelihood of `mixture`. The deviation is at least the
// width of a bin, within which nothing is known.
std::pair<Mixture, double> nextOf(const Mixture& mixture, const WeightedValues& values) {
  struct Sums {
    double weight = 0, first = 0, second = 0;
  };
  std::vector<Sums> sums(mixture.size());
  double all = 0, likelihood = 0;
  for (const WeightedValue& value : values) {
    const double whole = logDensity(mixture, value.value);
    for (std::size_t i = 0; i < mixture.size(); ++i) {
      const double part = value.weight * std::exp(mixture[i].logDensity(value.value) - whole);
      const double distance = value.value - mixture[i].mean();
      sums[i].weight += part;
      sums[i].first += part * distance;
      sums[i].second += part * distance * distance;
    }
    all += value.weight;
    likelihood += value.weight * whole;
  }
  Mixture next;
  for (std::size_t i = 0; i < mixture.size(); ++i) {
    if (sums[i].weight < 1e-9 * all) continue;
    const double shift = sums[i].first / sums[i].weight;
    const double variance = sums[i].second / sums[i].weight - shift * shift;
    next.emplace_back(sums[i].weight / all, mixture[i].mean() + shift,
                      std::max(kWidth, std::sqrt(std::max(variance, 0.0))));
  }
  return {std::move(next), likelihood};
}

// From the clusters of k-means; with the logarithm of its likelihood.
std::pair<Mixture, double> mixtureOf(const WeightedValues& values, std::size_t count) {
  constexpr int kMostSteps = 500;
  constexpr double kEnough = 1e-7;  // of the logarithm of the likelihood of a value
  double all = 0;
  for (const WeightedValue& value : values) all += value.weight;
  Mixture mixture;
  for (const double centre : centresOf(values, count)) {
    mixture.emplace_back(1.0 / static_cast<double>(count), centre, kWidth);
  }
  double before = -std::numeric_limits<double>::infinity(), now = before;
  for (int step = 0; step < kMostSteps; ++step) {
    auto [next, likelihood] = nextOf(mixture, values);
    before = std::exchange(now, likelihood);
    if (now - before < kEnough * all) break;
    mixture = std::move(next);
  }
  std::ranges::sort(mixture, {}, &Component::mean);
  return {std::move(mixture), now};
}

// With a billion values, BIC would see each bend of the distribution.
constexpr double kMostCounted = 10'000;

Mixture bestMixture(const WeightedValues& values) {
  constexpr std::size_t kMostComponents = 8;
  double all = 0;
  for (const WeightedValue& value : values) all += value.weight;
  const double counted = std::min(all, kMostCounted);
  Mixture best;
  double best_bic = std::numeric_limits<double>::infinity();
  for (std::size_t count = 1; count <= kMostComponents; ++count) {
    auto [mixture, likelihood] = mixtureOf(values, count);
    const double parameters = 3 * static_cast<double>(mixture.size()) - 1;
    const double bic = parameters * std::log(counted) - 2 * likelihood * counted / all;
    if (bic >= best_bic) continue;
    best_bic = bic;
    best = std::move(mixture);
  }
  return best;
}

}  // namespace

std::size_t ResidualHistogram::binOf(double factor) {
  const double place = (std::log(factor) - kLowest) / kWidth;
  return static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(kBins - 1)));
}

double ResidualHistogram::middleOf(std::size_t bin) {
  return kLowest + kWidth * (static_cast<double>(bin) + 0.5);
}

double ResidualHistogram::lowerOf(std::size_t bin) {
  return std::exp(kLowest + kWidth * static_cast<double>(bin));
}

std::vector<std::size_t> classesOf(const ResidualHistogram& residuals) {
  constexpr std::size_t kBins = ResidualHistogram::kBins;
  constexpr std::uint64_t kLeastMembers = 10;
  // A dip is at most this part of the lower one of the two peaks beside it.
  const double least_depth = -std::log(0.8);
  WeightedValues values;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    if (residuals.at(bin) == 0) continue;
    values.push_back({ResidualHistogram::middleOf(bin), static_cast<double>(residuals.at(bin))});
  }
  std::vector<std::size_t> firsts{0};
  if (values.empty()) return firsts;
  const Mixture mixture = bestMixture(values);
  std::array<double, kBins> density{};
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    density[bin] = logDensity(mixture, ResidualHistogram::middleOf(bin));
  }
  // A class begins at the lowest bin between two peaks.
  std::vector<std::size_t> peaks;
  for (std::size_t bin = 1; bin + 1 < kBins; ++bin) {
    if (density[bin] <= density[bin - 1] || density[bin] < density[bin + 1]) continue;
    if (!peaks.empty()) {
      const auto* const lowest = std::min_element(&density[peaks.back()], &density[bin]);
      firsts.push_back(static_cast<std::size_t>(lowest - density.data()));
    }
    peaks.push_back(bin);
  }
  while (firsts.size() > 1) {
    // The class that is the least one by itself, and how deep the dip at its begin is.
    const auto depth_of = [&](std::size_t i) {
      return std::min(density[peaks[i - 1]], density[peaks[i]]) - density[firsts[i]];
    };
    const auto is_small = [&](std::size_t i) {
      std::uint64_t members = 0;
      const std::size_t end = i + 1 < firsts.size() ? firsts[i + 1] : kBins;
      for (std::size_t bin = firsts[i]; bin < end; ++bin) members += residuals.at(bin);
      return members < kLeastMembers;
    };
    std::optional<std::pair<double, std::size_t>> least;
    for (std::size_t i = 1; i < firsts.size(); ++i) {
      const double depth = depth_of(i);
      if (depth >= least_depth && !is_small(i - 1) && !is_small(i)) continue;
      if (!least || depth < least->first) least.emplace(depth, i);
    }
    if (!least) break;
    const auto at = static_cast<std::ptrdiff_t>(least->second);
    firsts.erase(firsts.begin() + at);
    peaks.erase(peaks.begin() + at -
                (density[peaks[least->second - 1]] < density[peaks[least->second]] ? 1 : 0));
  }
  // Between two classes is where an access is as likely of the one as of the other.
  const std::vector<std::size_t> dips = firsts;
  const auto density_of = [&](std::size_t i, std::size_t bin) {
    double sum = -std::numeric_limits<double>::infinity();
    for (const Component& component : mixture) {
      const std::size_t own = ResidualHistogram::binOf(std::exp(component.mean()));
      const bool is_member = own >= dips[i] && (i + 1 == dips.size() || own < dips[i + 1]);
      if (is_member) sum = logSum(sum, component.logDensity(ResidualHistogram::middleOf(bin)));
    }
    return sum;
  };
  for (std::size_t i = 1; i < firsts.size(); ++i) {
    firsts[i] = peaks[i - 1] + 1;
    while (firsts[i] < peaks[i] && density_of(i - 1, firsts[i]) > density_of(i, firsts[i])) {
      ++firsts[i];
    }
  }
  return firsts;
}

}  // namespace omnio::access_time
