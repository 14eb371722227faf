// The hit ratio of the next operation over the time of a run, in bins of one width.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "predict/operations/predictor.hpp"
#include "predict/operations/score.hpp"

namespace omnio::predict {

class HitTimeline {
 public:
  static constexpr std::size_t kMostBins = 256;  // an even number

  struct Bin {
    std::array<std::uint64_t, kWays> hits{};
    std::array<double, kWays> hit{};  // the sum of the hit ratios, in percent
  };

  // `time_ns`: from the start of the run; what is before it counts as 0. The width of bins doubles
  // when the run is longer than they are.
  void add(std::int64_t time_ns, const std::array<Score, kWays>& scores);
  void add(const HitTimeline& other);

  std::int64_t binNs() const { return std::int64_t{1} << shift_; }
  const std::vector<Bin>& bins() const { return bins_; }

 private:
  void widen();

  unsigned shift_ = 10;  // of the width
  std::vector<Bin> bins_;
};

}  // namespace omnio::predict
