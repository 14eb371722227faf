// Turns ticks into nanoseconds. All processes of a node share its counter, so they share one clock:
// what came earlier by the counter comes earlier by the clock, whichever process it was in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/tracefile/clock_correction.hpp"

namespace omnio::tracefile {

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
