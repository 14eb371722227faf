#include "predict/operations/hit_timeline.hpp"

#include <algorithm>

namespace omnio::predict {
namespace {

void addTo(HitTimeline::Bin& bin, const HitTimeline::Bin& other) {
  for (std::size_t way = 0; way < kWays; ++way) {
    bin.hits[way] += other.hits[way];
    bin.hit[way] += other.hit[way];
  }
}

}  // namespace

void HitTimeline::widen() {
  ++shift_;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    const Bin bin = bins_[i];
    if (i % 2 == 0) bins_[i / 2] = Bin();
    addTo(bins_[i / 2], bin);
  }
  bins_.resize((bins_.size() + 1) / 2);
}

void HitTimeline::add(std::int64_t time_ns, const std::array<Score, kWays>& scores) {
  const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(time_ns, 0));
  while ((time >> shift_) >= kMostBins) widen();
  const auto place = static_cast<std::size_t>(time >> shift_);
  if (place >= bins_.size()) bins_.resize(place + 1);
  for (std::size_t way = 0; way < kWays; ++way) {
    bins_[place].hits[way] += scores[way].hits;
    bins_[place].hit[way] += scores[way].hit[0];
  }
}

void HitTimeline::add(const HitTimeline& other) {
  HitTimeline same = other;
  while (shift_ < same.shift_) widen();
  while (same.shift_ < shift_) same.widen();
  if (bins_.size() < same.bins_.size()) bins_.resize(same.bins_.size());
  for (std::size_t i = 0; i < same.bins_.size(); ++i) addTo(bins_[i], same.bins_[i]);
}

}  // namespace omnio::predict
