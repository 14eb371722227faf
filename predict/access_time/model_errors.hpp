// How wrong the models are: for each access, as the paper has it, and for the total time, which an
// estimate is made of. Both by cross-validation: a model is asked about what it did not learn from.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "predict/access_time/access.hpp"
#include "predict/access_time/time_model.hpp"

namespace omnio::access_time {

// Of the single accesses. In the paper's order and units; relative errors are |given - measured| /
// measured.
struct AccessErrors {
  std::size_t accesses = 0;
  double mae_s = 0;  // mean absolute error
  double mape = 0;   // mean absolute percentage error
  double mspe = 0;   // root of the mean squared percentage error
  double rq3 = 0;    // third quartile of the relative errors, percent
  double pmax = 0;   // the largest relative error, percent
};
AccessErrors errorsOf(const std::vector<double>& given, const std::vector<double>& measured);

// Of totals: each time the same access, many times. Relative errors, with their signs.
struct TotalErrors {
  std::vector<double> rounds;  // cells in rounds of the calibration that were held out
  std::vector<double> cells;   // cells between two sizes, which were held out in all rounds
  // Sizes that are held out leave gaps that are twice as wide (of logarithms) as those in use, and
  // the error of a line between two points grows with the square of that.
  static constexpr double kPartOfGap = 0.25;
  // The geometric mean of the factors by which they are off, less 1; the weighted mean of the two.
  double mean() const;
};

// Means of a cell over the rounds that were held out.
struct CellMeans {
  Access access;
  double measured_s = 0;
  double predicted_s = 0;
};

struct ModelErrors {
  ModelKind kind = ModelKind::kTable;
  AccessErrors sequential;
  AccessErrors random;                // and strided
  std::optional<TotalErrors> totals;  // of models that predict
  std::vector<CellMeans> cells;
};

// `samples`: reads and writes. Nothing is known with fewer than two rounds.
ModelErrors errorsOf(ModelKind kind, const Samples& samples);
TotalErrors totalErrorsOf(ModelKind kind, const Samples& samples);

// The model whose totals are nearest, of those that predict; the table, where none is clearly
// nearer.
ModelKind bestOf(const std::vector<std::pair<ModelKind, TotalErrors>>& models);

}  // namespace omnio::access_time
