#include "core/tracefile/node_clock.hpp"

#include <algorithm>
#include <limits>

namespace omnio::tracefile {
namespace {

// Two readings of the clocks are taken about 0.1 us apart from each other: over a tenth of a
// second that is a millionth, over a microsecond it would be a tenth.
constexpr std::int64_t kLeastDistanceNs = 100'000'000;
// Bounds what is kept of a long run; clocks do not change their pace that quickly.
constexpr std::int64_t kMostPoints = 4096;
// Centuries: what lies beyond is damage, and differences of what lies below fit into 64 bits.
constexpr std::uint64_t kFarthestNs = std::numeric_limits<std::int64_t>::max() / 4;
// add() thins out beyond this, so that memory does not grow with the number of chunks.
constexpr std::size_t kCompactAt = 65536;

template <typename Points>
void thin(Points& points, std::int64_t distance_ns) {
  std::sort(points.begin(), points.end(),
            [](const auto& a, const auto& b) { return a.ticks < b.ticks; });
  Points kept;
  for (const auto& point : points) {
    if (kept.empty()) {
      kept.push_back(point);
    } else if (point.ns > kept.back().ns && point.ticks > kept.back().ticks &&
               point.ns - kept.back().ns >= distance_ns) {
      kept.push_back(point);
    }
  }
  // The widest base there is counts most where anchors are few.
  if (kept.size() == 1 && points.back().ns > kept.back().ns &&
      points.back().ticks > kept.back().ticks) {
    kept.push_back(points.back());
  }
  points = std::move(kept);
}

}  // namespace

void NodeClock::add(std::uint64_t ticks, std::uint64_t monotonic_ns) {
  if (monotonic_ns == 0 || monotonic_ns > kFarthestNs) return;  // never taken, or damaged
  points_.push_back({ticks, static_cast<std::int64_t>(monotonic_ns)});
  if (points_.size() >= kCompactAt) thin(points_, kLeastDistanceNs);
}

// The pace changes at the correction's points too, so each that lies between anchors becomes one.
void NodeClock::applyBetween(const ClockCorrection& correction) {
  std::vector<Point> corrected;
  auto next = correction.points().begin();
  const auto last = correction.points().end();
  for (const Point& point : points_) {
    for (; next != last && next->own_ns <= point.ns; ++next) {
      if (corrected.empty() || next->own_ns == point.ns) continue;
      const Point& before = *(&point - 1);
      const double share =
          static_cast<double>(next->own_ns - before.ns) / static_cast<double>(point.ns - before.ns);
      const std::uint64_t ticks =
          before.ticks +
          static_cast<std::uint64_t>(share * static_cast<double>(point.ticks - before.ticks));
      if (ticks > corrected.back().ticks && ticks < point.ticks) {
        corrected.push_back({ticks, next->reference_ns});
      }
    }
    corrected.push_back({point.ticks, correction.referenceNs(point.ns)});
  }
  points_ = std::move(corrected);
}

void NodeClock::finish(const ClockCorrection& correction) {
  if (points_.empty()) return;
  const auto [first, last] = std::minmax_element(
      points_.begin(), points_.end(), [](const Point& a, const Point& b) { return a.ns < b.ns; });
  const std::int64_t span = last->ns - first->ns;
  thin(points_, std::max(kLeastDistanceNs, span / kMostPoints));
  if (points_.size() == 1) {
    // Of one anchor a tick is taken for a nanosecond of this node's.
    constexpr std::int64_t kWhile = 1'000'000'000;
    const std::int64_t ns = points_.front().ns;
    average_ =
        static_cast<double>(correction.referenceNs(ns + kWhile) - correction.referenceNs(ns)) /
        static_cast<double>(kWhile);
  }
  applyBetween(correction);
  if (points_.size() > 1) {
    average_ = static_cast<double>(points_.back().ns - points_.front().ns) /
               static_cast<double>(points_.back().ticks - points_.front().ticks);
  }
}

NodeClock::Segment NodeClock::segmentOf(std::uint64_t ticks) const {
  constexpr std::uint64_t kEver = std::numeric_limits<std::uint64_t>::max();
  if (points_.empty()) return {.first = 0, .last = kEver};
  const auto after =
      std::upper_bound(points_.begin(), points_.end(), ticks,
                       [](std::uint64_t value, const Point& point) { return value < point.ticks; });
  const Point& origin = after == points_.begin() ? points_.front() : *(after - 1);
  Segment segment{.first = origin.ticks,
                  .last = kEver,
                  .origin = origin.ticks,
                  .origin_ns = origin.ns,
                  .ns_per_tick = average_};
  if (after == points_.begin()) {
    segment.first = 0;
    segment.last = origin.ticks;
  } else if (after != points_.end()) {
    segment.last = after->ticks - 1;
    segment.ns_per_tick = static_cast<double>(after->ns - origin.ns) /
                          static_cast<double>(after->ticks - origin.ticks);
  }
  return segment;
}

}  // namespace omnio::tracefile
