#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "core/base/printable.hpp"
#include "replay/report.hpp"

namespace omnio::replay {
namespace {

double milliseconds(double ns) { return ns / 1e6; }
double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string seconds(std::int64_t ns) {
  return fmt::format("{:.3f} s", static_cast<double>(ns) / 1e9);
}

std::string line(std::string_view name, const RankCounts& counts) {
  return fmt::format("{:>6}  {:>10}  {:>10.2f}  {:>10.2f}  {:>10.3f}  {:>10.3f}  {:>11}\n", name,
                     counts.operations, mib(counts.bytes_read), mib(counts.bytes_written),
                     milliseconds(static_cast<double>(counts.io_ns)),
                     milliseconds(static_cast<double>(counts.end_ns)), counts.differences);
}

}  // namespace

std::string textOf(const Report& report) {
  constexpr std::size_t kRanksShown = 16;
  const RankCounts total = report.total();
  std::string out = fmt::format("Replay of {} in {}\n", base::printable(report.schedule),
                                base::printable(report.target));
  out += fmt::format(
      "Timing {}, cache {}, {} on {}, fence: {}\n", nameOf(report.timing), nameOf(report.cache),
      report.processes == 1 ? "1 process" : fmt::format("{} processes", report.processes),
      report.nodes == 1 ? "1 node" : fmt::format("{} nodes", report.nodes), report.fence);
  out += fmt::format("Prepared {} files, {:.2f} MiB in {}\n\n", report.prepared.files,
                     mib(report.prepared.bytes), seconds(report.preparation_ns));
  out += "  rank  operations    read MiB   write MiB      I/O ms     ends ms  differences\n";
  for (std::size_t i = 0; i < std::min(report.ranks.size(), kRanksShown); ++i) {
    out += line(std::to_string(report.ranks[i].rank), report.ranks[i]);
  }
  if (report.ranks.size() > kRanksShown) {
    out += fmt::format("   ... and {} more ranks\n", report.ranks.size() - kRanksShown);
  }
  out += line("total", total);
  const auto slowest = std::ranges::max_element(report.ranks, {}, &RankCounts::io_ns);
  if (slowest != report.ranks.end()) {
    out += fmt::format("\nTime in I/O: {} over all ranks, {} on the slowest (rank {})\n",
                       seconds(total.io_ns), seconds(slowest->io_ns), slowest->rank);
  }
  out += fmt::format("Makespan: {}; {} with the final sync ({})\n", seconds(report.makespan_ns),
                     seconds(report.makespan_ns + report.sync_ns), seconds(report.sync_ns));
  out += fmt::format("Lateness: mean {:.3f} ms, p99 {:.3f} ms, max {:.3f} ms{}\n",
                     milliseconds(total.lateness.mean()),
                     milliseconds(static_cast<double>(total.lateness.percentile(0.99))),
                     milliseconds(static_cast<double>(total.lateness.max())),
                     report.spins ? "" : " (more threads than processors: no spinning)");
  if (total.negative_gaps > 0) {
    out += fmt::format(
        "{} operations were recorded to start before what they follow had ended; "
        "they started at once\n",
        total.negative_gaps);
  }
  for (int i = 1; i < kSubstituteCount; ++i) {
    const std::uint64_t count = total.substitutes[static_cast<std::size_t>(i)];
    if (count > 0) {
      out += fmt::format("Not as recorded: {} x {}\n", count, textOf(static_cast<Substitute>(i)));
    }
  }
  if (total.differences == 0) {
    out += "Results: as recorded\n";
  } else {
    out +=
        fmt::format("Results: {} differ from the recorded ones; the first:\n", total.differences);
    for (const Difference& difference : report.differences) {
      out += fmt::format("  rank {}, thread {}, event {}: {}{}{}: {} was recorded, got {}\n",
                         difference.rank, difference.thread, difference.event, difference.call,
                         difference.location.empty() ? "" : " ",
                         base::printable(difference.location), difference.expected, difference.got);
    }
  }
  if (!report.trace.empty()) out += fmt::format("Trace: {}\n", base::printable(report.trace));
  return out;
}

}  // namespace omnio::replay
