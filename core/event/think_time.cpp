#include "core/event/think_time.hpp"

#include <algorithm>
#include <bit>

namespace omnio::event {
namespace {

constexpr std::int64_t kLeastNs = 16384;

}  // namespace

ThinkTime::Stratum& ThinkTime::stratumOf(std::int64_t ns) {
  return strata_[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(ns)) / 2)];
}

void ThinkTime::pass(std::int64_t ns) {
  if (ns >= kLeastNs) stratumOf(ns).passed_ns += static_cast<double>(ns);
}

void ThinkTime::look(std::int64_t wall_ns, std::int64_t cpu_ns) {
  if (wall_ns <= 0) return;
  Stratum& stratum = stratumOf(wall_ns);
  stratum.looked_ns += static_cast<double>(wall_ns);
  stratum.cpu_ns += static_cast<double>(std::clamp<std::int64_t>(cpu_ns, 0, wall_ns));
  is_known_ = true;
}

ThinkTime& ThinkTime::operator+=(const ThinkTime& other) {
  if (!other.is_known_) return *this;
  for (std::size_t i = 0; i < strata_.size(); ++i) {
    strata_[i].passed_ns += other.strata_[i].passed_ns;
    strata_[i].looked_ns += other.strata_[i].looked_ns;
    strata_[i].cpu_ns += other.strata_[i].cpu_ns;
  }
  is_known_ = true;
  return *this;
}

std::optional<double> ThinkTime::shareOf(std::size_t stratum) const {
  const Stratum& own = strata_[stratum];
  if (own.looked_ns > 0) return own.cpu_ns / own.looked_ns;
  Stratum beside;
  for (const std::size_t at : {stratum - 1, stratum + 1}) {
    if (at >= strata_.size()) continue;  // below 0, too: it wraps
    beside.looked_ns += strata_[at].looked_ns;
    beside.cpu_ns += strata_[at].cpu_ns;
  }
  if (beside.looked_ns > 0) return beside.cpu_ns / beside.looked_ns;
  return std::nullopt;
}

std::optional<double> ThinkTime::computing() const {
  double passed_ns = 0;
  double computed_ns = 0;
  for (std::size_t i = 0; i < strata_.size(); ++i) {
    const std::optional<double> share = shareOf(i);
    if (!share) continue;
    // The log misses events in places, so the looks can add up to more than the passed time.
    const double weight = std::max(strata_[i].passed_ns, strata_[i].looked_ns);
    passed_ns += weight;
    computed_ns += weight * *share;
  }
  if (passed_ns <= 0) return std::nullopt;
  return computed_ns / passed_ns;
}

}  // namespace omnio::event
