// Models of the time of an access, learned from samples (Schmid and Kunkel 2016, and a table).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "predict/access_time/access.hpp"

namespace omnio::access_time {

enum class ModelKind : std::uint8_t {
  kLinear,  // a + b * bytes, by operation
  kTable,   // the mean of each cell of the calibration, and lines between cells
  kNeural,  // a network: bytes, delta-offset, operation, processes
  // The next two use measured times of the very accesses whose time they give. They explain what
  // was measured, and predict nothing.
  kNeuralEma,         // the network, and the mean of the times before: t(n-1), t(n-2), ...
  kNeuralErrorClass,  // the network, and the class of the error of the linear model
};
inline constexpr ModelKind kModelKinds[] = {ModelKind::kNeuralErrorClass, ModelKind::kNeuralEma,
                                            ModelKind::kNeural, ModelKind::kTable,
                                            ModelKind::kLinear};
constexpr bool predicts(ModelKind kind) {
  return kind != ModelKind::kNeuralEma && kind != ModelKind::kNeuralErrorClass;
}
std::string_view nameOf(ModelKind kind);

class TimeModel {
 public:
  TimeModel() = default;
  TimeModel(const TimeModel&) = delete;
  TimeModel& operator=(const TimeModel&) = delete;
  virtual ~TimeModel() = default;

  // Never negative. May be called from several threads.
  virtual double seconds(const Access& access) const = 0;
};

// Of a kind that predicts. `samples`: at least one; all but the table take reads and writes alone.
// The same samples give the same model.
std::unique_ptr<const TimeModel> trained(ModelKind kind, const Samples& samples);

// The times that a model which has learned from `train` gives for each of `test`, in their order.
std::vector<double> timesBy(ModelKind kind, const Samples& train, const Samples& test);

// EMA(i) = 0.5 t(i) + 0.5 EMA(i-1) of the access before, for each sample; runs of one
// process in one cell and round follow each other by their time. The first of a run has its own
// time.
std::vector<double> averagesBefore(const Samples& samples);

struct WeightedValue {
  double value = 0;
  double weight = 1;
};
using WeightedValues = std::vector<WeightedValue>;

// The clusters (k-means) of values: their centres, ascending, at most `count`.
std::vector<double> centresOf(WeightedValues values, std::size_t count);

}  // namespace omnio::access_time
