#include "core/tracefile/node_clock.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace omnio::tracefile {
namespace {

// Kernels hold their clocks within 500 ppm of true time (adjtimex(2)), so two differ by less than
// this.
constexpr double kMostDrift = 0.01;
// Centuries: what lies beyond is damage, and sums of what lies below fit into 64 bits.
constexpr std::int64_t kFarthestNs = std::numeric_limits<std::int64_t>::max() / 4;

// How far the reference's clock goes while this one goes a nanosecond, less 1. (The difference is
// taken in whole numbers: a double does not hold the nanoseconds of a long run.)
double slopeLess1(const ClockCorrection::Point& from, const ClockCorrection::Point& to) {
  const std::int64_t own = to.own_ns - from.own_ns;
  const std::int64_t reference = to.reference_ns - from.reference_ns;
  return static_cast<double>(reference - own) / static_cast<double>(own);
}

double slopeError(const ClockCorrection::Point& from, const ClockCorrection::Point& to) {
  return static_cast<double>(from.error_ns + to.error_ns) /
         static_cast<double>(to.own_ns - from.own_ns);
}

}  // namespace

ClockCorrection::ClockCorrection(std::vector<Point> points) {
  std::ranges::sort(points, {}, &Point::own_ns);
  for (const Point& point : points) {
    // Damaged values may lead anywhere.
    if (std::clamp(point.own_ns, -kFarthestNs, kFarthestNs) != point.own_ns ||
        std::clamp(point.reference_ns, -kFarthestNs, kFarthestNs) != point.reference_ns ||
        std::clamp<std::int64_t>(point.error_ns, 0, kFarthestNs) != point.error_ns) {
      continue;
    }
    if (points_.empty() || (point.own_ns > points_.back().own_ns &&
                            point.reference_ns >= points_.back().reference_ns)) {
      points_.push_back(point);
    }
  }
  if (points_.size() < 2) return;
  const double slope = slopeLess1(points_.front(), points_.back());
  if (std::abs(slope) > slopeError(points_.front(), points_.back()) &&
      std::abs(slope) <= kMostDrift) {
    slope_outside_ = slope;
  }
}

std::int64_t ClockCorrection::referenceNs(std::int64_t own_ns) const {
  if (points_.empty()) return own_ns;
  const auto after = std::ranges::upper_bound(points_, own_ns, {}, &Point::own_ns);
  const Point& origin = after == points_.begin() ? points_.front() : *(after - 1);
  const bool is_between = after != points_.begin() && after != points_.end();
  const double slope = is_between ? slopeLess1(origin, *after) : slope_outside_;
  // Far out, where only damaged records lead, a number has to do that fits.
  const std::int64_t distance = std::clamp(own_ns, -kFarthestNs, kFarthestNs) - origin.own_ns;
  return origin.reference_ns + distance +
         static_cast<std::int64_t>(std::llround(static_cast<double>(distance) * slope));
}

ClockCorrection ClockCorrection::inverse() const {
  std::vector<Point> swapped;
  for (const Point& point : points_) {
    swapped.push_back({.own_ns = point.reference_ns, .reference_ns = point.own_ns});
  }
  return ClockCorrection(std::move(swapped));
}

// The line bends at the points of both.
ClockCorrection ClockCorrection::then(const ClockCorrection& next) const {
  if (points_.empty()) return next;
  std::vector<Point> points;
  for (const Point& point : points_) {
    points.push_back({.own_ns = point.own_ns,
                      .reference_ns = next.referenceNs(point.reference_ns),
                      .error_ns = point.error_ns + next.errorNsAt(point.reference_ns)});
  }
  const ClockCorrection back = inverse();
  for (const Point& point : next.points_) {
    const std::int64_t own_ns = back.referenceNs(point.own_ns);
    points.push_back({.own_ns = own_ns,
                      .reference_ns = point.reference_ns,
                      .error_ns = errorNsAt(own_ns) + point.error_ns});
  }
  return ClockCorrection(std::move(points));
}

std::int64_t ClockCorrection::offsetNs() const {
  return points_.empty() ? 0 : points_.front().own_ns - points_.front().reference_ns;
}

std::optional<ClockCorrection::Drift> ClockCorrection::drift() const {
  constexpr double kMillion = 1e6;
  if (points_.size() < 2) return {};
  const double slope = slopeLess1(points_.front(), points_.back());
  return Drift{.ppm = (1 / (1 + slope) - 1) * kMillion,
               .error_ppm = slopeError(points_.front(), points_.back()) * kMillion};
}

std::int64_t ClockCorrection::errorNs() const {
  return points_.empty() ? 0 : std::ranges::max(points_, {}, &Point::error_ns).error_ns;
}

// The error between two points is at most a straight line between theirs: the band of all
// possible lines is narrower in the middle.
std::int64_t ClockCorrection::errorNsAt(std::int64_t own_ns) const {
  if (points_.empty()) return 0;
  const auto after = std::ranges::upper_bound(points_, own_ns, {}, &Point::own_ns);
  if (after == points_.begin()) return points_.front().error_ns;
  if (after == points_.end()) return points_.back().error_ns;
  const Point& before = *(after - 1);
  const double share = static_cast<double>(own_ns - before.own_ns) /
                       static_cast<double>(after->own_ns - before.own_ns);
  return before.error_ns + static_cast<std::int64_t>(std::ceil(
                               share * static_cast<double>(after->error_ns - before.error_ns)));
}

namespace {

// Two readings of the clocks are taken about 0.1 us apart from each other: over a tenth of a
// second that is a millionth, over a microsecond it would be a tenth.
constexpr std::int64_t kLeastDistanceNs = 100'000'000;
// Bounds what is kept of a long run; clocks do not change their pace that quickly.
constexpr std::int64_t kMostPoints = 4096;
// No counter runs at 1000 GHz: damage.
constexpr double kLeastPace = 0.001;  // ns a tick
constexpr std::uint64_t kLastTicks = std::numeric_limits<std::uint64_t>::max();
// add() thins out beyond this, so that memory does not grow with the number of chunks.
constexpr std::size_t kCompactAt = 65536;

template <typename Points>
void thin(Points& points, std::int64_t distance_ns) {
  std::ranges::sort(points, {}, [](const auto& point) { return point.ticks; });
  Points kept;
  for (const auto& point : points) {
    if (kept.empty() || (point.ns > kept.back().ns && point.ticks > kept.back().ticks &&
                         point.ns - kept.back().ns >= distance_ns)) {
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
  if (monotonic_ns == 0 || monotonic_ns > static_cast<std::uint64_t>(kFarthestNs))
    return;  // never taken, or damaged
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

// A process that was killed has no anchor at its end, and the correction may bend after the last
// one.
void NodeClock::reachTo(const ClockCorrection& correction) {
  if (correction.points().empty()) return;
  const Point first = points_.front();
  const Point last = points_.back();
  const double pace = points_.size() < 2 ? 1
                                         : static_cast<double>(last.ns - first.ns) /
                                               static_cast<double>(last.ticks - first.ticks);
  const auto ticksOf = [pace](std::int64_t ns) {
    return static_cast<std::uint64_t>(static_cast<double>(ns) / pace);
  };
  if (!(pace > kLeastPace)) return;
  const std::int64_t before = first.ns - correction.points().front().own_ns;
  if (before > 0 && ticksOf(before) > 0 && ticksOf(before) < first.ticks) {
    points_.insert(points_.begin(), {first.ticks - ticksOf(before), first.ns - before});
  }
  const std::int64_t after = correction.points().back().own_ns - last.ns;
  if (after > 0 && ticksOf(after) > 0 && last.ticks < kLastTicks - ticksOf(after)) {
    points_.push_back({last.ticks + ticksOf(after), last.ns + after});
  }
}

void NodeClock::finish(const ClockCorrection& correction) {
  if (points_.empty()) return;
  const auto [first, last] = std::ranges::minmax(points_, {}, &Point::ns);
  const std::int64_t span = last.ns - first.ns;
  thin(points_, std::max(kLeastDistanceNs, span / kMostPoints));
  if (points_.size() == 1) {
    // With one anchor, a tick is taken for a nanosecond of this node's.
    constexpr std::int64_t kWhile = 1'000'000'000;
    const std::int64_t ns = points_.front().ns;
    average_ =
        static_cast<double>(correction.referenceNs(ns + kWhile) - correction.referenceNs(ns)) /
        static_cast<double>(kWhile);
  }
  reachTo(correction);
  applyBetween(correction);
  if (points_.size() > 1) {
    average_ = static_cast<double>(points_.back().ns - points_.front().ns) /
               static_cast<double>(points_.back().ticks - points_.front().ticks);
  }
}

NodeClock::Segment NodeClock::segmentOf(std::uint64_t ticks) const {
  if (points_.empty()) return {.first = 0, .last = kLastTicks};
  const auto after = std::ranges::upper_bound(points_, ticks, {}, &Point::ticks);
  const Point& origin = after == points_.begin() ? points_.front() : *(after - 1);
  Segment segment{.first = origin.ticks,
                  .last = kLastTicks,
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
