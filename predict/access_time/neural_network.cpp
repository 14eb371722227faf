#include "predict/access_time/neural_network.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <eigen3/Eigen/Dense>
#include <numeric>
#include <utility>

#include "core/base/integers.hpp"

namespace omnio::access_time {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
constexpr std::size_t kLayers = 3;

// Parameters of one layer, or their gradients, or the moments of these.
struct Parameters {
  Matrix weights;
  Vector bias;

  static Parameters zero(Eigen::Index outputs, Eigen::Index inputs) {
    return {Matrix::Zero(outputs, inputs), Vector::Zero(outputs)};
  }
};

namespace {

// A column for each case.
using Cases = Eigen::Map<const Matrix>;

// Numbers that are the same on each machine, which those of <random> are not.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() { return base::mixed(state_++, 0); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // from 0 to 1

 private:
  std::uint64_t state_;
};

// The step of Adam for one layer.
class Adam {
 public:
  Adam(Eigen::Index outputs, Eigen::Index inputs)
      : mean_(Parameters::zero(outputs, inputs)), square_(Parameters::zero(outputs, inputs)) {}

  void step(Parameters& layer, const Parameters& gradient, double rate, int number) {
    const double mean_rest = 1 - std::pow(kMeanKept, number);
    const double square_rest = 1 - std::pow(kSquareKept, number);
    const auto move = [&](auto& values, const auto& slope, auto& mean, auto& square) {
      mean = kMeanKept * mean + (1 - kMeanKept) * slope;
      square = kSquareKept * square + (1 - kSquareKept) * slope.cwiseAbs2();
      values.array() -= rate * (mean.array() / mean_rest) /
                        ((square.array() / square_rest).sqrt() + kLeastDivisor);
    };
    move(layer.weights, gradient.weights, mean_.weights, square_.weights);
    move(layer.bias, gradient.bias, mean_.bias, square_.bias);
  }

 private:
  // As the authors advise.
  static constexpr double kMeanKept = 0.9, kSquareKept = 0.999, kLeastDivisor = 1e-8;
  Parameters mean_, square_;
};

}  // namespace

struct NeuralNetwork::Layers {
  std::array<Parameters, kLayers> layers;

  // The outputs of each layer; the last one is linear.
  std::array<Matrix, kLayers> outputs(const Matrix& inputs) const {
    std::array<Matrix, kLayers> result;
    const Matrix* before = &inputs;
    for (std::size_t i = 0; i < kLayers; ++i) {
      result[i] = (layers[i].weights * *before).colwise() + layers[i].bias;
      if (i + 1 < kLayers) result[i] = result[i].array().tanh().matrix();
      before = &result[i];
    }
    return result;
  }

  // Of half the mean squared error.
  std::array<Parameters, kLayers> gradients(const Matrix& inputs, const Matrix& wanted) const {
    const std::array<Matrix, kLayers> got = outputs(inputs);
    std::array<Parameters, kLayers> result;
    Matrix slope = (got[kLayers - 1] - wanted) / static_cast<double>(inputs.cols());
    for (std::size_t i = kLayers; i-- > 0;) {
      const Matrix& before = i == 0 ? inputs : got[i - 1];
      result[i] = {slope * before.transpose(), slope.rowwise().sum()};
      if (i == 0) break;
      slope = ((layers[i].weights.transpose() * slope).array() * (1 - got[i - 1].array().square()))
                  .matrix();
    }
    return result;
  }
};

NeuralNetwork::NeuralNetwork(std::span<const double> inputs, std::size_t width,
                             std::span<const double> outputs, const Training& training)
    : layers_(std::make_unique<Layers>()) {
  Draws draws(training.seed);
  const auto rows = static_cast<Eigen::Index>(width);
  const auto count = static_cast<Eigen::Index>(outputs.size());
  const std::array<Eigen::Index, kLayers + 1> sizes{rows, training.hidden, training.hidden, 1};
  std::vector<Adam> steps;
  for (std::size_t i = 0; i < kLayers; ++i) {
    Parameters& layer = layers_->layers[i] = Parameters::zero(sizes[i + 1], sizes[i]);
    // X. Glorot, Y. Bengio, AISTATS 2010.
    const double most = std::sqrt(6.0 / static_cast<double>(sizes[i] + sizes[i + 1]));
    for (double& weight : layer.weights.reshaped()) weight = most * (2 * draws.unit() - 1);
    steps.emplace_back(sizes[i + 1], sizes[i]);
  }
  const Cases all_inputs(inputs.data(), rows, count);
  const Cases all_outputs(outputs.data(), 1, count);
  std::vector<Eigen::Index> order(outputs.size());
  std::iota(order.begin(), order.end(), 0);
  int number = 0;
  for (int epoch = 0; epoch < training.epochs; ++epoch) {
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[draws.next() % i]);
    }
    const double rate = training.rate * std::pow(0.01, static_cast<double>(epoch) /
                                                           static_cast<double>(training.epochs));
    for (std::size_t from = 0; from < order.size();
         from += static_cast<std::size_t>(training.batch)) {
      const std::size_t to =
          std::min(order.size(), from + static_cast<std::size_t>(training.batch));
      const std::vector<Eigen::Index> batch(order.begin() + static_cast<std::ptrdiff_t>(from),
                                            order.begin() + static_cast<std::ptrdiff_t>(to));
      const auto gradients =
          layers_->gradients(all_inputs(Eigen::all, batch), all_outputs(Eigen::all, batch));
      ++number;
      for (std::size_t i = 0; i < kLayers; ++i) {
        steps[i].step(layers_->layers[i], gradients[i], rate, number);
      }
    }
  }
}

NeuralNetwork::~NeuralNetwork() = default;

double NeuralNetwork::at(std::span<const double> inputs) const {
  const Cases one(inputs.data(), static_cast<Eigen::Index>(inputs.size()), 1);
  return layers_->outputs(one)[kLayers - 1](0, 0);
}

}  // namespace omnio::access_time
