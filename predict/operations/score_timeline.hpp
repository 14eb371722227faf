// The scores of operations along a run, in bins of one width: of its time, or of the operations of
// each thread. The width doubles where a run is longer than the bins, so there are some hundred
// bins at most, however long the run is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/moments.hpp"
#include "predict/operations/predictor.hpp"
#include "predict/operations/score.hpp"

namespace omnio::predict {

class ScoreTimeline {
 public:
  static constexpr std::size_t kMostBins = 200;  // an even number
  // Contexts are scored over so many operations of a thread in a row (Dorier et al., figure 2).
  static constexpr unsigned kWindow = 10;

  struct Bin {
    std::array<Score, kWays> scores{};
    // The grammar alone fills these:
    std::size_t symbols = 0;  // of the largest grammar of contexts
    base::Moments windows;    // contexts that were right in each window that ended here
    base::Moments followed;   // operations in a row whose contexts were predicted here at one time

    void add(const Bin& other);
  };

  explicit ScoreTimeline(std::int64_t width) : width_(width) {}

  // A place below 0 counts as 0. The reference is valid until the next call.
  Bin& at(std::int64_t place);
  // The other one has to have begun with the same width.
  void add(const ScoreTimeline& other);

  std::int64_t width() const { return width_; }
  const std::vector<Bin>& bins() const { return bins_; }

 private:
  void widen();

  std::int64_t width_;
  std::vector<Bin> bins_;
};

// The curves of a run.
struct Curves {
  ScoreTimeline by_time{1024};  // ns from the start of the run
  ScoreTimeline by_operation{ScoreTimeline::kWindow};

  void add(const Curves& other) {
    by_time.add(other.by_time);
    by_operation.add(other.by_operation);
  }
};

}  // namespace omnio::predict
