#include "predict/access_time/time_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "predict/access_time/curve.hpp"
#include "predict/access_time/neural_network.hpp"
#include "predict/access_time/table_model.hpp"

namespace omnio::access_time {

namespace {

// A clock tick: logarithms need a time.
constexpr double kShortest = 1e-9;

// y = a + b x with the least squares.
struct Line {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;

  void add(double at, double value) {
    n += 1;
    x += at;
    y += value;
    xx += at * at;
    xy += at * value;
  }
  double at(double bytes) const {
    const double spread = n * xx - x * x;
    const double slope = spread > 0 ? (n * xy - x * y) / spread : 0;
    return (y - slope * x) / n + slope * bytes;
  }
};

class LinearModel final : public TimeModel {
 public:
  explicit LinearModel(const Samples& samples) {
    std::map<std::pair<CellOperation, double>, Line> lines;
    std::map<std::pair<CellOperation, double>, std::pair<double, double>> ends;
    for (const Sample& sample : samples) {
      const Access& access = sample.access;
      const auto key = std::pair(access.operation, access.processes);
      lines[key].add(access.bytes, sample.seconds);
      const auto [end, is_new] = ends.try_emplace(key, access.bytes, access.bytes);
      end->second.first = std::min(end->second.first, access.bytes);
      end->second.second = std::max(end->second.second, access.bytes);
    }
    for (const auto& [key, line] : lines) {
      const auto [least, most] = ends.at(key);
      for (const double bytes : {least, most}) {
        curves_[key.first].add(key.second, bytes, line.at(bytes));
      }
    }
  }

  double seconds(const Access& access) const override {
    const auto found = curves_.find(access.operation);
    const auto& curves = found != curves_.end() ? found->second : curves_.begin()->second;
    return std::max(0.0, curves.at(access.processes, access.bytes));
  }

 private:
  std::map<CellOperation, CurvesByProcesses> curves_;
};

// The inputs of the networks, each about -1 to 1.
constexpr std::size_t kWidth = 7;

double sign(bool yes) { return yes ? 1 : -1; }

void appendInputs(std::vector<double>& inputs, const Access& access) {
  constexpr double kSizes = 12, kOffsets = 32, kProcesses = 3;  // halves of ranges of log2
  const double distance = std::log2(1 + std::abs(static_cast<double>(access.delta_offset)));
  inputs.insert(inputs.end(),
                {std::log2(1 + access.bytes) / kSizes - 1,
                 access.delta_offset < 0 ? -distance / kOffsets : distance / kOffsets,
                 sign(access.delta_offset == 0), sign(access.operation == CellOperation::kWrite),
                 sign(access.extends), sign(access.sharing == FileSharing::kShared),
                 std::log2(access.processes) / kProcesses - 1});
}

// A network for the logarithm of the time. The mean time of accesses is more than the time of the
// mean logarithm: `stretch_` is the ratio (N. Duan, "Smearing Estimate", JASA 78, 1983), by
// operation and pattern, so that totals are right.
class Network {
 public:
  // `more`: further inputs of each sample, as many for each. Learns from the samples with these
  // numbers.
  Network(const Samples& samples, const std::vector<double>& more,
          const std::vector<std::size_t>& cases)
      : more_width_(more.size() / samples.size()) {
    std::vector<double> inputs, outputs;
    for (const std::size_t i : cases) {
      outputs.push_back(std::log(std::max(samples[i].seconds, kShortest)));
      appendInputs(inputs, samples[i].access);
      const auto of_sample = moreOf(more, i);
      inputs.insert(inputs.end(), of_sample.begin(), of_sample.end());
    }
    const auto n = static_cast<double>(outputs.size());
    mean_ = std::accumulate(outputs.begin(), outputs.end(), 0.0) / n;
    double squares = 0;
    for (const double value : outputs) squares += (value - mean_) * (value - mean_);
    scale_ = std::max(std::sqrt(squares / n), kLeastScale);
    for (double& value : outputs) value = (value - mean_) / scale_;
    network_ = std::make_unique<NeuralNetwork>(inputs, kWidth + more_width_, outputs,
                                               NeuralNetwork::Training{});
    std::map<std::pair<CellOperation, AccessOrder>, std::pair<double, double>> sums;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const Access& access = samples[i].access;
      auto& [measured, given] = sums[{access.operation, access.order}];
      // Each cell counts the same, whatever its sizes.
      const double seconds_given = seconds(access, moreOf(more, i));
      measured += samples[i].seconds / seconds_given;
      given += 1;
    }
    for (const auto& [key, both] : sums) stretch_[key] = both.first / both.second;
  }

  double seconds(const Access& access, std::span<const double> more) const {
    std::vector<double> inputs;
    appendInputs(inputs, access);
    inputs.insert(inputs.end(), more.begin(), more.end());
    const auto stretch = stretch_.find({access.operation, access.order});
    return std::exp(mean_ + scale_ * network_->at(inputs)) *
           (stretch == stretch_.end() ? 1.0 : stretch->second);
  }

 private:
  static constexpr double kLeastScale = 1e-6;

  std::span<const double> moreOf(const std::vector<double>& more, std::size_t sample) const {
    return std::span(more).subspan(sample * more_width_, more_width_);
  }

  std::size_t more_width_;
  double mean_ = 0, scale_ = 1;
  std::unique_ptr<NeuralNetwork> network_;
  std::map<std::pair<CellOperation, AccessOrder>, double> stretch_;
};

// As many samples as a network learns from in a second or two: the same number of each cell.
constexpr std::size_t kMostCases = 4000;

std::vector<std::size_t> casesOf(const Samples& samples) {
  std::map<CellOf, std::vector<std::size_t>> cells;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Access& access = samples[i].access;
    cells[cellOf(access)].push_back(i);
  }
  const std::size_t most = std::max<std::size_t>(kMostCases / cells.size(), 4);
  std::vector<std::size_t> result;
  for (const auto& [key, numbers] : cells) {
    const std::size_t count = std::min(most, numbers.size());
    for (std::size_t i = 0; i < count; ++i) result.push_back(numbers[i * numbers.size() / count]);
  }
  return result;
}

Network networkOf(const Samples& samples, const std::vector<double>& more) {
  return {samples, more, casesOf(samples)};
}

class NeuralModel final : public TimeModel {
 public:
  explicit NeuralModel(const Samples& samples) : network_(networkOf(samples, {})) {}
  double seconds(const Access& access) const override { return network_.seconds(access, {}); }

 private:
  Network network_;
};

// By the network, with what was measured of each sample besides its access.
std::vector<double> explained(const Samples& train, const std::vector<double>& of_train,
                              const Samples& test, const std::vector<double>& of_test) {
  const Network network = networkOf(train, of_train);
  const std::size_t width = of_train.size() / train.size();
  std::vector<double> result;
  for (std::size_t i = 0; i < test.size(); ++i) {
    result.push_back(network.seconds(test[i].access, std::span(of_test).subspan(i * width, width)));
  }
  return result;
}

std::vector<double> byAverages(const Samples& train, const Samples& test) {
  const auto inputsOf = [](const Samples& samples) {
    constexpr double kMiddle = -11, kHalf = 9;  // 1 ns to 0.1 s, as logarithms
    std::vector<double> inputs = averagesBefore(samples);
    for (double& value : inputs) {
      value = (std::log(std::max(value, kShortest)) - kMiddle) / kHalf;
    }
    return inputs;
  };
  return explained(train, inputsOf(train), test, inputsOf(test));
}

std::vector<double> byErrorClasses(const Samples& train, const Samples& test) {
  constexpr std::size_t kClasses = 10;
  const LinearModel linear(train);
  const auto residual = [&linear](const Sample& sample) {
    return sample.seconds - linear.seconds(sample.access);
  };
  WeightedValues residuals;
  for (const Sample& sample : train) residuals.push_back({.value = residual(sample)});
  const std::vector<double> centres = centresOf(residuals, kClasses);
  const auto inputsOf = [&](const Samples& samples) {
    std::vector<double> inputs;
    for (const Sample& sample : samples) {
      const double value = residual(sample);
      const auto nearest = std::ranges::min_element(
          centres, {}, [value](double centre) { return std::abs(centre - value); });
      for (auto centre = centres.begin(); centre != centres.end(); ++centre) {
        inputs.push_back(centre == nearest ? 1.0 : 0.0);
      }
    }
    return inputs;
  };
  return explained(train, inputsOf(train), test, inputsOf(test));
}

}  // namespace

std::string_view nameOf(ModelKind kind) {
  switch (kind) {
    case ModelKind::kLinear:
      return "linear";
    case ModelKind::kTable:
      return "table";
    case ModelKind::kNeural:
      return "ann";
    case ModelKind::kNeuralEma:
      return "ann+ema";
    case ModelKind::kNeuralErrorClass:
      return "ann+error class";
  }
  return {};
}

std::unique_ptr<const TimeModel> trained(ModelKind kind, const Samples& samples) {
  switch (kind) {
    case ModelKind::kLinear:
      return std::make_unique<LinearModel>(samples);
    case ModelKind::kNeural:
      return std::make_unique<NeuralModel>(samples);
    default:
      return std::make_unique<TableModel>(samples);
  }
}

std::vector<double> timesBy(ModelKind kind, const Samples& train, const Samples& test) {
  if (kind == ModelKind::kNeuralEma) return byAverages(train, test);
  if (kind == ModelKind::kNeuralErrorClass) return byErrorClasses(train, test);
  const auto model = trained(kind, train);
  std::vector<double> result;
  for (const Sample& sample : test) result.push_back(model->seconds(sample.access));
  return result;
}

std::vector<double> averagesBefore(const Samples& samples) {
  std::vector<std::size_t> numbers(samples.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto runOf = [&samples](std::size_t i) {
    return std::tuple(cellOf(samples[i].access), samples[i].round, samples[i].process);
  };
  std::ranges::stable_sort(numbers, {},
                           [&](std::size_t i) { return std::pair(runOf(i), samples[i].start_ns); });
  std::vector<double> result(samples.size());
  double average = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double seconds = samples[numbers[i]].seconds;
    if (i == 0 || runOf(numbers[i]) != runOf(numbers[i - 1])) average = seconds;
    result[numbers[i]] = average;
    average = 0.5 * seconds + 0.5 * average;
  }
  return result;
}

std::vector<double> centresOf(WeightedValues values, std::size_t count) {
  constexpr int kMostSteps = 100;
  std::ranges::sort(values, {}, &WeightedValue::value);
  // They begin evenly between the least and the most: most values lie close to each other, and
  // clusters that begin among these never come to the few that took long.
  const double least = values.front().value, most = values.back().value;
  std::vector<double> centres;
  for (std::size_t i = 0; i < count; ++i) {
    const double part = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    centres.push_back(least + part * (most - least));
  }
  for (int step = 0; step < kMostSteps; ++step) {
    std::vector<double> moved;
    auto value = values.begin();
    for (std::size_t i = 0; i < centres.size(); ++i) {
      const bool is_last = i + 1 == centres.size();
      double sum = 0, weight = 0;
      for (;
           value != values.end() && (is_last || value->value <= (centres[i] + centres[i + 1]) / 2);
           ++value) {
        sum += value->weight * value->value;
        weight += value->weight;
      }
      // A cluster that has lost all of its values ends.
      if (weight > 0) moved.push_back(sum / weight);
    }
    if (moved == centres) break;
    centres = std::move(moved);
  }
  return centres;
}

}  // namespace omnio::access_time
