#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/model/phase_model.hpp"
#include "ior_bridge/estimate.hpp"

namespace omnio::ior {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

std::string operationsOf(const PhaseEstimate& phase) {
  std::string words;
  for (const OperationEstimate& o : phase.operations) {
    words += fmt::format("{}{}", words.empty() ? "" : "+", model::nameOf(o.operation));
  }
  return words;
}

std::string bandwidthsOf(const PhaseEstimate& phase) {
  std::string words;
  for (const OperationEstimate& o : phase.operations) {
    words += fmt::format("{}{:.1f}", words.empty() ? "" : "+", o.bandwidth_mib_s.median);
  }
  return words;
}

std::string range(const Spread& spread) {
  return fmt::format("{:.6f} .. {:.6f}", spread.least, spread.most);
}

std::string measured(double seconds) {
  return seconds > 0 ? fmt::format("{:.6f}", seconds) : std::string("-");
}

std::string error(double estimated_s, double measured_s) {
  if (!(measured_s > 0)) return "-";
  return fmt::format("{:+.1f}%", 100 * (estimated_s - measured_s) / measured_s);
}

// The phases that get a row of their own.
std::set<int> longest(const Estimate& estimate, std::size_t rows) {
  std::vector<std::pair<double, int>> order;
  for (const PhaseEstimate& phase : estimate.phases) {
    order.emplace_back(-std::max(phase.time_s.median, phase.measured_s), phase.phase);
  }
  std::sort(order.begin(), order.end());
  std::set<int> result;
  for (const auto& [time, phase] : order) {
    if (result.size() < rows) result.insert(phase);
  }
  return result;
}

constexpr const char* kRow = "{:>5}  {:<12} {:>12}  {:>21}  {:>4}  {:>11}  {:<26}  {:>11}  {:>9}";

}  // namespace

std::string textOf(const Estimate& estimate, std::optional<double> peak_mib_s, std::size_t rows) {
  const std::set<int> shown = longest(estimate, rows);
  PhaseEstimate rest;
  std::string out = fmt::format(fmt::runtime(kRow), "phase", "operations", "weight", "bandwidth",
                                "runs", "Time_io", "least .. most", "application", "error");
  if (peak_mib_s) out += "   usage";
  out += '\n';
  out += fmt::format(fmt::runtime(kRow), "", "", "MiB", "MiB/s", "", "s", "s", "s", "");
  out += '\n';
  for (const PhaseEstimate& phase : estimate.phases) {
    if (!shown.contains(phase.phase)) {
      rest.weight_bytes += phase.weight_bytes;
      rest.time_s.median += phase.time_s.median;
      rest.time_s.least += phase.time_s.least;
      rest.time_s.most += phase.time_s.most;
      rest.measured_s += phase.measured_s;
      continue;
    }
    out += fmt::format(fmt::runtime(kRow), phase.phase, operationsOf(phase),
                       fmt::format("{:.3f}", static_cast<double>(phase.weight_bytes) / kMiB),
                       bandwidthsOf(phase), phase.iterations,
                       fmt::format("{:.6f}", phase.time_s.median), range(phase.time_s),
                       measured(phase.measured_s), error(phase.time_s.median, phase.measured_s));
    if (peak_mib_s && phase.measuredBandwidth()) {
      out += fmt::format("  {:5.1f}%", 100 * *phase.measuredBandwidth() / *peak_mib_s);
    }
    out += '\n';
  }
  const auto sum = [&](std::string_view name, std::string_view what, std::uint64_t weight_bytes,
                       const Spread& time_s, double measured_s) {
    out += fmt::format(fmt::runtime(kRow), name, what,
                       fmt::format("{:.3f}", static_cast<double>(weight_bytes) / kMiB), "", "",
                       fmt::format("{:.6f}", time_s.median), range(time_s), measured(measured_s),
                       error(time_s.median, measured_s));
    out += '\n';
  };
  if (shown.size() < estimate.phases.size()) {
    sum("more", fmt::format("{} phases", estimate.phases.size() - shown.size()), rest.weight_bytes,
        rest.time_s, rest.measured_s);
  }
  sum("total", "", estimate.weight_bytes, estimate.time_s, estimate.measured_s);
  for (const PhaseEstimate& phase : estimate.phases) {
    if (!shown.contains(phase.phase)) continue;
    for (const std::string& note : phase.notes) {
      out += fmt::format("phase {}: {}\n", phase.phase, note);
    }
  }
  for (const int phase : estimate.missing) {
    out += fmt::format("phase {}: no result, so the total is without it\n", phase);
  }
  return out;
}

}  // namespace omnio::ior
