// Turns ticks into nanoseconds. All processes of a node share its counter, so they share one clock:
// what came earlier by the counter comes earlier by the clock, whichever process it was in.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace omnio::tracefile {

// Leads from the CLOCK_MONOTONIC of one node to that of another, the reference: straight lines
// between points (docs/formats/trace.md, "Clocks").
class ClockCorrection {
 public:
  struct Point {
    std::int64_t own_ns = 0;
    std::int64_t reference_ns = 0;
    std::int64_t error_ns = 0;  // reference_ns is wrong by at most this
  };

  // The reference's own clock: nothing changes.
  ClockCorrection() = default;
  // Points in any order; a point that would make time run backwards is left out. Outside of the
  // points the clock runs as from the first to the last when that is more than their errors can
  // make up and a clock can drift so much, else as the reference.
  explicit ClockCorrection(std::vector<Point> points);

  std::int64_t referenceNs(std::int64_t own_ns) const;
  // From the reference to this clock; without errors.
  ClockCorrection inverse() const;
  // First this correction, then `next`; errors add up.
  ClockCorrection then(const ClockCorrection& next) const;
  // By how much this clock is ahead of the reference, at the first point.
  std::int64_t offsetNs() const;
  // By how much it is too fast, in millionths, and how wrong that can be; not known from one point.
  struct Drift {
    double ppm = 0;
    double error_ppm = 0;
  };
  std::optional<Drift> drift() const;
  // The most by which a time between the points can be wrong.
  std::int64_t errorNs() const;
  // The same at one time.
  std::int64_t errorNsAt(std::int64_t own_ns) const;
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
  void reachTo(const ClockCorrection& correction);
  void applyBetween(const ClockCorrection& correction);

  std::vector<Point> points_;
  double average_ = 1;  // ns a tick
};

}  // namespace omnio::tracefile
