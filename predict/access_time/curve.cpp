#include "predict/access_time/curve.hpp"

#include <algorithm>
#include <iterator>

namespace omnio::access_time {

namespace {

double between(double x, double x0, double y0, double x1, double y1) {
  return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
}

}  // namespace

void Curve::add(double bytes, double seconds, double weight) {
  Mean& mean = points_[bytes];
  mean.sum += seconds * weight;
  mean.weight += weight;
}

double Curve::at(double bytes) const {
  const auto above = points_.lower_bound(bytes);
  if (above == points_.begin()) return above->second.value();
  const auto below = std::prev(above);
  if (above != points_.end()) {
    return between(bytes, below->first, below->second.value(), above->first, above->second.value());
  }
  const double last = below->second.value();
  // Of one size alone: below some size a latency is most of the time.
  constexpr double kLatencyBytes = 64 << 10;
  if (below == points_.begin()) {
    return last * std::max(1.0, bytes / std::max(below->first, kLatencyBytes));
  }
  const auto before = std::prev(below);
  const double slope =
      std::max(0.0, (last - before->second.value()) / (below->first - before->first));
  return last + slope * (bytes - below->first);
}

double CurvesByProcesses::at(double processes, double bytes) const {
  const auto above = curves_.lower_bound(processes);
  if (above == curves_.begin()) return above->second.at(bytes);
  const auto below = std::prev(above);
  if (above != curves_.end()) {
    return between(processes, below->first, below->second.at(bytes), above->first,
                   above->second.at(bytes));
  }
  const double last = below->second.at(bytes);
  if (below == curves_.begin()) return last;
  // More processes than were measured: as between the last two numbers, and not shorter.
  const auto before = std::prev(below);
  const double slope =
      std::max(0.0, (last - before->second.at(bytes)) / (below->first - before->first));
  return last + slope * (processes - below->first);
}

bool CurvesByProcesses::covers(double processes, double bytes) const {
  if (curves_.empty()) return false;
  const auto above = curves_.lower_bound(processes);
  if (above == curves_.end()) return false;
  const auto covers_bytes = [bytes](const Curve& curve) {
    return bytes >= curve.leastBytes() && bytes <= curve.mostBytes();
  };
  if (above->first == processes) return covers_bytes(above->second);
  return above != curves_.begin() && covers_bytes(above->second) &&
         covers_bytes(std::prev(above)->second);
}

}  // namespace omnio::access_time
