// Messages between two hosts bound the offset of their clocks. These are the bounds, and the
// straight lines that they leave room for: A. Duda, G. Harrus, Y. Haddad, G. Bernard, "Estimating
// global time in distributed systems", ICDCS 1987.
//
// A message from the first host says by how much the second clock is ahead at most; one from the
// second by how much at least. Memory does not grow with the number of messages: the time of the
// run is cut into windows, and of each the convex hulls of the bounds are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace omnio::order {

class OffsetBounds {
 public:
  // Times are nanoseconds of the first clock. Bounds outside of the run count to its ends.
  OffsetBounds(std::int64_t begin_ns, std::int64_t end_ns, std::size_t windows);

  // When the first clock shows `at_ns`, the second is ahead by `offset_ns` at most, or at least.
  void addMost(std::int64_t at_ns, std::int64_t offset_ns) {
    windowOf(at_ns).most.add(at_ns, offset_ns);
  }
  void addLeast(std::int64_t at_ns, std::int64_t offset_ns) {
    windowOf(at_ns).least.add(at_ns, -offset_ns);
  }

  struct Point {
    std::int64_t at_ns = 0;
    std::int64_t offset_ns = 0;
    std::int64_t error_ns = 0;  // half of the room at that time, or a little more
  };
  // From the begin of the run to its end, straight between two points.
  struct Fit {
    std::vector<Point> points;
    std::size_t pieces = 1;  // more: no single line lies between all bounds
    bool holds_all = true;   // false: a few bounds of one kind were left out, too

    std::int64_t errorNs() const;
  };
  // Nothing when there are bounds of one kind alone.
  std::optional<Fit> fit() const { return fit(begin_ns_, end_ns_); }
  // For a run whose ends are known better now.
  std::optional<Fit> fit(std::int64_t begin_ns, std::int64_t end_ns) const;

  struct Bound {
    std::int64_t at_ns = 0;
    std::int64_t offset_ns = 0;
    bool is_most = false;
  };
  // The bounds that are kept, by time.
  std::vector<Bound> bounds() const;

 private:
  struct Hull {
    // Bounds of one side; those with the least offsets count.
    void add(std::int64_t at_ns, std::int64_t offset_ns);
    void reduce();
    std::vector<Point> points;
    std::size_t reduce_at = 32;
  };
  struct Window {
    Hull most;
    Hull least;  // offsets negated
  };
  Window& windowOf(std::int64_t at_ns);

  std::int64_t begin_ns_;
  std::int64_t end_ns_;
  std::size_t window_count_;
  std::map<std::size_t, Window> windows_;
};

}  // namespace omnio::order
