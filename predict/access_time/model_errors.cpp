#include "predict/access_time/model_errors.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace omnio::access_time {

namespace {

std::set<int> roundsOf(const Samples& samples) {
  std::set<int> rounds;
  for (const Sample& sample : samples) rounds.insert(sample.round);
  return rounds;
}

// Those for which `is_out` says so, and the others.
template <typename IsOut>
std::pair<Samples, Samples> split(const Samples& samples, IsOut is_out) {
  std::pair<Samples, Samples> result;
  for (const Sample& sample : samples) {
    (is_out(sample) ? result.first : result.second).push_back(sample);
  }
  return result;
}

// Of each cell: what the model gives in total, over what was measured.
void appendTotals(std::vector<double>& errors, const TimeModel& model, const Samples& samples) {
  std::map<CellOf, std::pair<double, double>> totals;
  for (const Sample& sample : samples) {
    auto& [given, measured] = totals[cellOf(sample.access)];
    given += model.seconds(sample.access);
    measured += sample.seconds;
  }
  for (const auto& [cell, total] : totals) {
    if (total.second > 0) errors.push_back(total.first / total.second - 1);
  }
}

// Of the factors by which totals are off: ten times too long and ten times too short are as bad. A
// few cells that a held-up machine has made hundreds of times too long do not decide.
double meanFactor(const std::vector<double>& errors) {
  constexpr double kLeast = 1e-3;
  double sum = 0;
  for (const double error : errors) sum += std::abs(std::log(std::max(1 + error, kLeast)));
  return errors.empty() ? 0 : std::exp(sum / static_cast<double>(errors.size())) - 1;
}

}  // namespace

AccessErrors errorsOf(const std::vector<double>& given, const std::vector<double>& measured) {
  AccessErrors errors;
  std::vector<double> relative;
  double absolute = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (measured[i] <= 0) continue;  // shorter than a tick of the clock
    const double error = std::abs(given[i] - measured[i]);
    relative.push_back(100 * error / measured[i]);
    absolute += error;
    sum += relative.back();
    squares += relative.back() * relative.back();
  }
  errors.accesses = relative.size();
  if (relative.empty()) return errors;
  const auto count = static_cast<double>(relative.size());
  const auto quartile = relative.begin() + static_cast<std::ptrdiff_t>(3 * relative.size() / 4);
  std::ranges::nth_element(relative, quartile);
  errors.mae_s = absolute / count;
  errors.mape = sum / count;
  errors.mspe = std::sqrt(squares / count);
  errors.rq3 = *quartile;
  errors.pmax = *std::ranges::max_element(relative);
  return errors;
}

double TotalErrors::mean() const {
  if (cells.empty()) return meanFactor(rounds);
  if (rounds.empty()) return meanFactor(cells);
  return (meanFactor(rounds) + kPartOfGap * meanFactor(cells)) / (1 + kPartOfGap);
}

ModelErrors errorsOf(ModelKind kind, const Samples& samples) {
  ModelErrors result{.kind = kind, .sequential = {}, .random = {}, .totals = {}, .cells = {}};
  std::vector<double> given[2], measured[2];
  std::map<CellOf, std::pair<CellMeans, double>> cells;  // sums, and of how many
  for (const int round : roundsOf(samples)) {
    const auto [test, train] =
        split(samples, [round](const Sample& sample) { return sample.round == round; });
    if (train.empty()) continue;
    const std::vector<double> times = timesBy(kind, train, test);
    for (std::size_t i = 0; i < test.size(); ++i) {
      const std::size_t pattern = test[i].access.order == AccessOrder::kSequential ? 0 : 1;
      given[pattern].push_back(times[i]);
      measured[pattern].push_back(test[i].seconds);
      auto& [sums, count] = cells[cellOf(test[i].access)];
      sums.access = test[i].access;
      sums.measured_s += test[i].seconds;
      sums.predicted_s += times[i];
      count += 1;
    }
  }
  for (const auto& [cell, of_cell] : cells) {
    const auto& [sums, count] = of_cell;
    result.cells.push_back({sums.access, sums.measured_s / count, sums.predicted_s / count});
  }
  result.sequential = errorsOf(given[0], measured[0]);
  result.random = errorsOf(given[1], measured[1]);
  if (predicts(kind)) result.totals = totalErrorsOf(kind, samples);
  return result;
}

TotalErrors totalErrorsOf(ModelKind kind, const Samples& samples) {
  TotalErrors errors;
  for (const int round : roundsOf(samples)) {
    const auto [test, train] =
        split(samples, [round](const Sample& sample) { return sample.round == round; });
    if (!train.empty()) appendTotals(errors.rounds, *trained(kind, train), test);
  }
  // Every other size is between two that stay.
  std::set<double> sizes;
  for (const Sample& sample : samples) sizes.insert(sample.access.bytes);
  const std::vector<double> sorted(sizes.begin(), sizes.end());
  for (const std::size_t first : {std::size_t{1}, std::size_t{2}}) {
    std::set<double> out;
    for (std::size_t i = first; i + 1 < sorted.size(); i += 2) out.insert(sorted[i]);
    if (out.empty()) continue;
    const auto [test, train] =
        split(samples, [&out](const Sample& sample) { return out.contains(sample.access.bytes); });
    appendTotals(errors.cells, *trained(kind, train), test);
  }
  return errors;
}

ModelKind bestOf(const std::vector<std::pair<ModelKind, TotalErrors>>& models) {
  constexpr double kClearly = 0.8;
  const auto error_of = [](const auto& model) {
    // The table gives what was measured, and lines between. Another one has to be clearly nearer.
    return model.second.mean() * (model.first == ModelKind::kTable ? kClearly : 1);
  };
  return std::ranges::min_element(models, {}, error_of)->first;
}

}  // namespace omnio::access_time
