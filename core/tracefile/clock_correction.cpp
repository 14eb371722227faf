#include "core/tracefile/clock_correction.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace omnio::tracefile {
namespace {

// Kernels hold their clocks within 500 ppm of true time (adjtimex(2)), so two differ by less than
// this.
constexpr double kMostDrift = 0.01;
// Centuries: what lies beyond is damage, and sums of what lies below fit into 64 bits.
constexpr std::int64_t kFarthestNs = std::numeric_limits<std::int64_t>::max() / 4;

// Takes a number and what stands between it and the next off the front.
template <typename Number>
bool takeNumber(std::string_view& text, Number& into, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into, base);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty()) return true;
  if (text.front() != ' ') return false;
  text.remove_prefix(1);
  return true;
}

// How far the reference's clock goes while this one goes a nanosecond, less 1. (The difference is
// taken in whole numbers: a double does not hold the nanoseconds of a long run.)
double slopeLess1(const ClockCorrection::Point& from, const ClockCorrection::Point& to) {
  const std::int64_t own = to.own_ns - from.own_ns;
  const std::int64_t reference = to.reference_ns - from.reference_ns;
  return static_cast<double>(reference - own) / static_cast<double>(own);
}

bool isPossible(const ClockCorrection::Point& from, const ClockCorrection::Point& to) {
  return to.own_ns > from.own_ns && std::abs(slopeLess1(from, to)) <= kMostDrift;
}

double slopeError(const ClockCorrection::Point& from, const ClockCorrection::Point& to) {
  return static_cast<double>(from.error_ns + to.error_ns) /
         static_cast<double>(to.own_ns - from.own_ns);
}

}  // namespace

std::optional<ClockMeeting> readClockMeeting(std::string_view text) {
  constexpr int kHexadecimal = 16;
  ClockMeeting meeting;
  const bool whole = takeNumber(text, meeting.own_ns) && takeNumber(text, meeting.peer_ns) &&
                     takeNumber(text, meeting.error_ns) &&
                     takeNumber(text, meeting.peer_token, kHexadecimal) && text.empty();
  for (const std::int64_t ns : {meeting.own_ns, meeting.peer_ns, meeting.error_ns}) {
    if (ns < 0 || ns > kFarthestNs) return {};
  }
  if (!whole || meeting.peer_token == 0) return {};
  return meeting;
}

ClockCorrection::ClockCorrection(std::vector<Point> points) {
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.own_ns < b.own_ns; });
  for (const Point& point : points) {
    // A chain of damaged values may lead anywhere.
    if (std::clamp<std::int64_t>(point.own_ns, 0, kFarthestNs) != point.own_ns ||
        std::clamp(point.reference_ns, -kFarthestNs, kFarthestNs) != point.reference_ns ||
        point.error_ns > kFarthestNs) {
      continue;
    }
    if (points_.empty() || isPossible(points_.back(), point)) {
      points_.push_back(point);
    } else if (point.error_ns < points_.back().error_ns &&
               (points_.size() == 1 || isPossible(points_[points_.size() - 2], point))) {
      points_.back() = point;
    }
  }
  if (points_.size() < 2) return;
  const double slope = slopeLess1(points_.front(), points_.back());
  if (std::abs(slope) > slopeError(points_.front(), points_.back())) slope_outside_ = slope;
}

std::int64_t ClockCorrection::referenceNs(std::int64_t own_ns) const {
  if (points_.empty()) return own_ns;
  auto after = std::upper_bound(points_.begin(), points_.end(), own_ns,
                                [](std::int64_t ns, const Point& p) { return ns < p.own_ns; });
  const Point& origin = after == points_.begin() ? points_.front() : *(after - 1);
  const bool is_between = after != points_.begin() && after != points_.end();
  const double slope = is_between ? slopeLess1(origin, *after) : slope_outside_;
  // Far out, where only damaged records lead, a number has to do that fits.
  const std::int64_t distance = std::clamp(own_ns, -kFarthestNs, kFarthestNs) - origin.own_ns;
  return origin.reference_ns + distance +
         static_cast<std::int64_t>(std::llround(static_cast<double>(distance) * slope));
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
  std::int64_t error = 0;
  for (const Point& point : points_) error = std::max(error, point.error_ns);
  return error;
}

}  // namespace omnio::tracefile
