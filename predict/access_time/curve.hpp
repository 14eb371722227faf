// Mean times at some sizes, and a line between each two of them: the time of an access is about a
// latency and a part that grows with the bytes, so a line is right where both are constant.
#pragma once

#include <map>
#include <optional>
#include <vector>

namespace omnio::access_time {

class Curve {
 public:
  void add(double bytes, double seconds, double weight = 1);

  bool isEmpty() const { return points_.empty(); }
  double leastBytes() const { return points_.begin()->first; }
  double mostBytes() const { return points_.rbegin()->first; }
  // Not of an empty one. Below the smallest size it is as long as there; above the largest it goes
  // on by bytes, as between the last two.
  double at(double bytes) const;

 private:
  struct Mean {
    double sum = 0;
    double weight = 0;
    double value() const { return sum / weight; }
  };
  std::map<double, Mean> points_;
};

// Curves by the number of processes at once, with a line between each two.
class CurvesByProcesses {
 public:
  void add(double processes, double bytes, double seconds, double weight = 1) {
    curves_[processes].add(bytes, seconds, weight);
  }

  bool isEmpty() const { return curves_.empty(); }
  double at(double processes, double bytes) const;
  // Whether both numbers lie between measured ones.
  bool covers(double processes, double bytes) const;

 private:
  std::map<double, Curve> curves_;
};

}  // namespace omnio::access_time
