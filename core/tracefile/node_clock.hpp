// Turns ticks into nanoseconds. All processes of a node share its counter, so they share one clock:
// what came earlier by the counter comes earlier by the clock, whichever process it was in.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace omnio::tracefile {

// From the CLOCK_MONOTONIC of one node to the reference node's: a straight line through the moments
// at which both were seen (docs/formats/trace.md, "Clocks").
//
// The offset at such a moment comes of messages to and fro: half of the shortest round trip is the
// most by which it can be wrong (Cristian, "Probabilistic clock synchronization", 1989).
// What a process told of its node's clock and another's: the value of clock.start or clock.end.
struct ClockMeeting {
  std::int64_t own_ns = 0;
  std::int64_t peer_ns = 0;   // of the peer's clock at the same moment
  std::int64_t error_ns = 0;  // at most
  std::uint64_t peer_token = 0;
};
// Nothing when the text is no such value, or says what no clock could.
std::optional<ClockMeeting> readClockMeeting(std::string_view text);

class ClockCorrection {
 public:
  struct Point {
    std::int64_t own_ns = 0;
    std::int64_t reference_ns = 0;
    std::int64_t error_ns = 0;
  };

  // The reference's own: nothing changes.
  ClockCorrection() = default;
  // Points in any order; of some so close that they would tell a pace no clock has, the one with
  // the least error stays. Between points the clock runs evenly; outside of them as from the first
  // to the last when that is more than their errors can make up, else as the reference.
  explicit ClockCorrection(std::vector<Point> points);

  std::int64_t referenceNs(std::int64_t own_ns) const;
  // By how much this clock is ahead of the reference's, at the first point.
  std::int64_t offsetNs() const;
  // By how much it is too fast, in millionths, and how wrong that can be; not known from one point.
  struct Drift {
    double ppm = 0;
    double error_ppm = 0;
  };
  std::optional<Drift> drift() const;
  // The most by which a time at a point can be wrong.
  std::int64_t errorNs() const;
  // Sorted by time.
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
  double slope_outside_ = 0;
};

// Between two anchors time runs evenly; before the first and behind the last it runs as it did on
// the average.
class NodeClock {
 public:
  // A stretch of even time: valid for ticks in [first, last].
  struct Segment {
    std::uint64_t first = 1;
    std::uint64_t last = 0;
    std::uint64_t origin = 0;  // ticks
    std::int64_t origin_ns = 0;
    double ns_per_tick = 1;

    bool holds(std::uint64_t ticks) const { return first <= ticks && ticks <= last; }
    std::int64_t ns(std::uint64_t ticks) const {
      // Far out, where only damaged records lead, a number has to do that fits.
      constexpr double kFarthest = 4e18;
      const auto distance = static_cast<double>(static_cast<std::int64_t>(ticks - origin));
      const double ns = std::clamp(distance * ns_per_tick, -kFarthest, kFarthest);
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(origin_ns) +
                                       static_cast<std::uint64_t>(static_cast<std::int64_t>(ns)));
    }
  };

  void add(std::uint64_t ticks, std::uint64_t monotonic_ns);

  // Once, after the last add(). The correction leads from this node's CLOCK_MONOTONIC to the
  // reference node's: what segmentOf() tells is the reference's time.
  void finish(const ClockCorrection& correction);

  Segment segmentOf(std::uint64_t ticks) const;

 private:
  struct Point {
    std::uint64_t ticks;
    std::int64_t ns;
  };
  void applyBetween(const ClockCorrection& correction);

  std::vector<Point> points_;
  double average_ = 1;  // ns a tick
};

}  // namespace omnio::tracefile
