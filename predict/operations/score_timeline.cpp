#include "predict/operations/score_timeline.hpp"

#include <algorithm>
#include <utility>

namespace omnio::predict {

void ScoreTimeline::Bin::add(const Bin& other) {
  for (std::size_t way = 0; way < kWays; ++way) scores[way].add(other.scores[way]);
  symbols = std::max(symbols, other.symbols);
  windows.add(other.windows);
  followed.add(other.followed);
}

void ScoreTimeline::widen() {
  width_ *= 2;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const Bin bin = std::exchange(bins_[i], Bin());
    bins_[i / 2].add(bin);
  }
  bins_.resize((bins_.size() + 1) / 2);
}

ScoreTimeline::Bin& ScoreTimeline::at(std::int64_t place) {
  place = std::max<std::int64_t>(place, 0);
  while (place / width_ >= static_cast<std::int64_t>(kMostBins)) widen();
  const auto bin = static_cast<std::size_t>(place / width_);
  if (bin >= bins_.size()) bins_.resize(bin + 1);
  return bins_[bin];
}

void ScoreTimeline::add(const ScoreTimeline& other) {
  ScoreTimeline same = other;
  while (width_ < same.width_) widen();
  while (same.width_ < width_) same.widen();
  if (bins_.size() < same.bins_.size()) bins_.resize(same.bins_.size());
  for (std::size_t i = 0; i < same.bins_.size(); ++i) bins_[i].add(same.bins_[i]);
}

}  // namespace omnio::predict
