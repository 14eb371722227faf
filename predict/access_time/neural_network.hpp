// A multilayer perceptron with one output: two hidden layers of tanh, trained by Adam (D. Kingma,
// J. Ba, ICLR 2015) on the squared error. The same numbers give the same network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace omnio::access_time {

class NeuralNetwork {
 public:
  struct Training {
    int hidden = 16;  // neurons of each of the two hidden layers
    int epochs = 50;
    int batch = 64;
    double rate = 0.01;  // falls to a hundredth of it
    std::uint64_t seed = 1;
  };

  // `inputs`: `width` numbers for each of `outputs`, about -1 to 1 each. There is at least one.
  NeuralNetwork(std::span<const double> inputs, std::size_t width, std::span<const double> outputs,
                const Training& training);
  NeuralNetwork(const NeuralNetwork&) = delete;
  NeuralNetwork& operator=(const NeuralNetwork&) = delete;
  ~NeuralNetwork();

  double at(std::span<const double> inputs) const;

 private:
  struct Layers;
  std::unique_ptr<Layers> layers_;
};

}  // namespace omnio::access_time
