// Mean times at some sizes, and a line between each two of them: the time of an access is about a
// latency and a part that grows with the bytes, so a line is right where both are constant.
#pragma once

#include <map>
#include <optional>
#include <vector>

namespace omnio::access_time {

class Curve {
 public:
  // `batch`: accesses that were measured one after another have the same.
  void add(double bytes, double seconds, int batch = 0);

  bool isEmpty() const { return points_.empty(); }
  double leastBytes() const { return points_.begin()->first; }
  double mostBytes() const { return points_.rbegin()->first; }
  // Not of an empty one. Below the smallest size it is as long as there; above the largest it goes
  // on by bytes, as between that and the nearest size that clearly takes less time.
  double at(double bytes) const;
  // The standard error of that, by how the means of batches at the sizes around it differ, or the
  // times where there are few batches. One time alone could be anything: its error is as large as
  // it is.
  double errorAt(double bytes) const;
  // The sizes whose means at() is made of.
  std::vector<double> sizesFor(double bytes) const;
  bool has(double bytes) const { return points_.contains(bytes); }
  // How many times these means are made of.
  double countFor(double bytes) const;

 private:
  struct Sum {
    double count = 0;
    double seconds = 0;
  };
  struct Mean {
    Sum all;
    double squares = 0;
    std::map<int, Sum> batches;

    double value() const { return all.seconds / all.count; }
    double error() const;
  };
  std::map<double, Mean> points_;
};

// Curves by the number of processes at once, with a line between each two.
class CurvesByProcesses {
 public:
  void add(double processes, double bytes, double seconds, int batch = 0) {
    curves_[processes].add(bytes, seconds, batch);
  }

  bool isEmpty() const { return curves_.empty(); }
  double at(double processes, double bytes) const;
  double errorAt(double processes, double bytes) const;
  double countFor(double processes, double bytes) const;
  // Whether it has all means that at() of `whole` is made of.
  bool hasThoseOf(const CurvesByProcesses& whole, double processes, double bytes) const;
  // Whether the size was measured, with any number of processes.
  bool hasSize(double bytes) const;
  // Within the sizes that were measured of the fewest processes. There are some.
  double nearestSize(double bytes) const;
  // Whether both numbers lie between measured ones.
  bool covers(double processes, double bytes) const;

 private:
  // The numbers of processes whose curves at() is made of.
  std::vector<double> numbersFor(double processes) const;

  std::map<double, Curve> curves_;
};

}  // namespace omnio::access_time
