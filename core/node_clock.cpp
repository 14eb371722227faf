#include "core/node_clock.hpp"

#include <algorithm>
#include <limits>

namespace omnio {
namespace {

// Two readings of the clocks are taken about 0.1 us apart from each other: over a tenth of a
// second that is a millionth, over a microsecond it would be a tenth.
constexpr std::uint64_t kLeastDistanceNs = 100'000'000;
// Bounds what is kept of a long run; clocks do not change their pace that quickly.
constexpr std::uint64_t kMostPoints = 4096;
// add() thins out beyond this, so that memory does not grow with the number of chunks.
constexpr std::size_t kCompactAt = 65536;

template <typename Points>
void thin(Points& points, std::uint64_t distance_ns) {
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
  if (monotonic_ns == 0) return;  // an anchor that was never taken
  points_.push_back({ticks, monotonic_ns});
  if (points_.size() >= kCompactAt) thin(points_, kLeastDistanceNs);
}

void NodeClock::finish(std::int64_t shift_ns) {
  shift_ns_ = shift_ns;
  if (points_.empty()) return;
  const auto [first, last] = std::minmax_element(
      points_.begin(), points_.end(), [](const Point& a, const Point& b) { return a.ns < b.ns; });
  const std::uint64_t span = last->ns - first->ns;
  thin(points_, std::max(kLeastDistanceNs, span / kMostPoints));
  if (points_.size() > 1) {
    average_ = static_cast<double>(points_.back().ns - points_.front().ns) /
               static_cast<double>(points_.back().ticks - points_.front().ticks);
  }
}

NodeClock::Segment NodeClock::segmentOf(std::uint64_t ticks) const {
  constexpr std::uint64_t kEver = std::numeric_limits<std::uint64_t>::max();
  if (points_.empty()) return {.first = 0, .last = kEver, .origin_ns = shift_ns_};
  const auto after =
      std::upper_bound(points_.begin(), points_.end(), ticks,
                       [](std::uint64_t value, const Point& point) { return value < point.ticks; });
  const Point& origin = after == points_.begin() ? points_.front() : *(after - 1);
  Segment segment{
      .first = origin.ticks,
      .last = kEver,
      .origin = origin.ticks,
      .origin_ns = static_cast<std::int64_t>(origin.ns + static_cast<std::uint64_t>(shift_ns_)),
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

}  // namespace omnio
