#include "predict/access_time/curve.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace omnio::access_time {

namespace {

double between(double x, double x0, double y0, double x1, double y1) {
  return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
}

// The keys on both sides of `at`, or `at` itself; beyond the last key, the last two.
template <typename Value>
std::vector<double> keysAround(const std::map<double, Value>& values, double at) {
  auto above = values.lower_bound(at);
  if (above == values.begin() || (above != values.end() && above->first == at)) {
    return {above->first};
  }
  if (above == values.end()) --above;
  if (above == values.begin()) return {above->first};
  return {std::prev(above)->first, above->first};
}

}  // namespace

void Curve::add(double bytes, double seconds, int batch) {
  Mean& mean = points_[bytes];
  for (Sum* const sum : {&mean.all, &mean.batches[batch]}) {
    sum->count += 1;
    sum->seconds += seconds;
  }
  mean.squares += seconds * seconds;
}

// Storage that lets some accesses pass at once and holds up the next has times that differ much,
// and means of batches that do not.
double Curve::Mean::error() const {
  constexpr std::size_t kEnough = 3;
  if (all.count < 2) return value();
  if (batches.size() < kEnough) {
    const double variance = std::max(0.0, squares / all.count - value() * value());
    return std::sqrt(variance / (all.count - 1));
  }
  // The mean over clusters of different sizes (W. Cochran, Sampling Techniques, 1977).
  double sum = 0;
  for (const auto& [batch, part] : batches) {
    const double difference = part.seconds - value() * part.count;
    sum += difference * difference;
  }
  const auto n = static_cast<double>(batches.size());
  return std::sqrt(sum * n / (n - 1)) / all.count;
}

double Curve::at(double bytes) const {
  const auto above = points_.lower_bound(bytes);
  if (above == points_.begin()) return above->second.value();
  const auto below = std::prev(above);
  if (above != points_.end()) {
    return between(bytes, below->first, below->second.value(), above->first, above->second.value());
  }
  const double last = below->second.value();
  // One size alone: below some size a latency is most of the time.
  constexpr double kLatencyBytes = 64 << 10;
  if (below == points_.begin()) {
    return last * std::max(1.0, bytes / std::max(below->first, kLatencyBytes));
  }
  // Times of two sizes differ by chance too, and a hundred times that would be far too much: the
  // nearest size that clearly takes less time decides.
  constexpr double kClearly = 2;
  for (auto before = below; before != points_.begin();) {
    --before;
    const bool is_known = before->second.all.count > 1 && below->second.all.count > 1;
    const double least =
        is_known ? kClearly * std::hypot(before->second.error(), below->second.error()) : 0;
    const double growth = last - before->second.value();
    if (growth > least) {
      return last + growth / (below->first - before->first) * (bytes - below->first);
    }
    if (!is_known) break;
  }
  return last;
}

double Curve::errorAt(double bytes) const {
  const auto above = points_.lower_bound(bytes);
  if (above == points_.begin()) return above->second.error();
  const auto below = std::prev(above);
  // Beyond the largest size it stays the same part of the time.
  if (above == points_.end()) {
    const Mean& last = below->second;
    return last.value() > 0 ? at(bytes) * last.error() / last.value() : 0;
  }
  return between(bytes, below->first, below->second.error(), above->first, above->second.error());
}

std::vector<double> Curve::sizesFor(double bytes) const { return keysAround(points_, bytes); }

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

double CurvesByProcesses::errorAt(double processes, double bytes) const {
  const auto above = curves_.lower_bound(processes);
  if (above == curves_.begin()) return above->second.errorAt(bytes);
  const auto below = std::prev(above);
  if (above == curves_.end()) {  // the same part of the time, as beyond the largest size
    const double last = below->second.at(bytes);
    return last > 0 ? at(processes, bytes) * below->second.errorAt(bytes) / last : 0;
  }
  return between(processes, below->first, below->second.errorAt(bytes), above->first,
                 above->second.errorAt(bytes));
}

double Curve::countFor(double bytes) const {
  double count = 0;
  for (const double size : sizesFor(bytes)) count += points_.at(size).all.count;
  return count;
}

double CurvesByProcesses::countFor(double processes, double bytes) const {
  double count = 0;
  for (const double number : numbersFor(processes)) count += curves_.at(number).countFor(bytes);
  return count;
}

std::vector<double> CurvesByProcesses::numbersFor(double processes) const {
  return keysAround(curves_, processes);
}

bool CurvesByProcesses::hasThoseOf(const CurvesByProcesses& whole, double processes,
                                   double bytes) const {
  return std::ranges::all_of(whole.numbersFor(processes), [&](double number) {
    const auto mine = curves_.find(number);
    return mine != curves_.end() &&
           std::ranges::all_of(whole.curves_.at(number).sizesFor(bytes),
                               [&mine](double size) { return mine->second.has(size); });
  });
}

double CurvesByProcesses::nearestSize(double bytes) const {
  const Curve& fewest = curves_.begin()->second;
  return std::clamp(bytes, fewest.leastBytes(), fewest.mostBytes());
}

bool CurvesByProcesses::hasSize(double bytes) const {
  return std::ranges::any_of(curves_, [bytes](const auto& of) { return of.second.has(bytes); });
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
