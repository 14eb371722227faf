#include "predict/access_time/access.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>

#include "core/base/repeats.hpp"
#include "predict/calibration/grid.hpp"

namespace omnio::access_time {

namespace {

// Far longer: so many times the median. Rare: at most this part of the cell's accesses, or one.
constexpr double kFar = 10, kRare = 0.03;
// Storage that lets some syncs pass at once makes others wait a hundred times as long: that one of
// few did is their kind, and nothing rare.
constexpr std::size_t kLeastSyncs = 34;

// The accesses of a process in a round are at most so many batches, of so many accesses at least
// (batch means: A. Law, Simulation Modeling and Analysis, the chapter on output of one run).
constexpr std::size_t kBlocks = 8, kBlock = 4;

// Gives the rare accesses of one cell the median time. Returns what they took more.
double takeRare(Samples::iterator begin, Samples::iterator end) {
  std::vector<double> times;
  for (auto sample = begin; sample != end; ++sample) times.push_back(sample->seconds);
  if (times.empty()) return 0;
  const double median = base::medianOf(times);
  std::size_t far = 0;
  for (const double time : times) far += time > kFar * median ? 1 : 0;
  if (far > 1 && static_cast<double>(far) > kRare * static_cast<double>(times.size())) return 0;
  double taken = 0;
  for (auto sample = begin; sample != end; ++sample) {
    if (sample->seconds <= kFar * median) continue;
    taken += sample->seconds - median;
    sample->seconds = median;
  }
  return taken;
}

}  // namespace

Samples samplesOf(const predict::Calibration& calibration, bool shares_rare) {
  constexpr double kNs = 1e-9;
  struct Sums {
    double rare = 0, others = 0;
  };
  // A process loses its processor far more often where there are fewer of them than processes.
  const auto group_of = [&calibration](const Access& access) {
    return std::tuple(access.operation, access.is_paused,
                      access.processes > calibration.target.processors);
  };
  std::map<std::tuple<CellOperation, bool, bool>, Sums> sums;
  Samples samples;
  for (const predict::Cell& cell : calibration.cells) {
    const std::size_t first = samples.size();
    for (const predict::AccessRun& run : cell.runs) {
      std::int64_t start_ns = run.begin_ns;
      const std::size_t blocks = std::clamp<std::size_t>(run.times_ns.size() / kBlock, 1, kBlocks);
      for (std::size_t i = 0; i < run.times_ns.size(); ++i) {
        // Rounds behind the planned ones have only cells that could make few accesses at a time,
        // and are no picture of all: they count as the last one.
        Sample sample{
            .access = {.operation = cell.key.operation,
                       .order = cell.key.order,
                       .sharing = cell.key.sharing,
                       .extends = cell.key.extends,
                       .is_new = cell.key.is_new,
                       .is_paused = cell.key.is_paused,
                       .bytes = static_cast<double>(cell.key.bytes),
                       .delta_offset = 0,
                       .processes = static_cast<double>(cell.key.processes)},
            .seconds = static_cast<double>(run.times_ns[i]) * kNs,
            .round = static_cast<int>(std::min(run.round, predict::kPlannedRounds - 1)),
            .start_ns = start_ns,
            .process = static_cast<int>(run.process),
            .batch = static_cast<int>(run.round * kBlocks + i * blocks / run.times_ns.size())};
        if (!run.offsets.empty()) sample.access.delta_offset = run.deltaOffset(i, cell.key.bytes);
        start_ns += run.times_ns[i];
        samples.push_back(sample);
      }
    }
    if (!shares_rare || first == samples.size()) continue;
    const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(first);
    Sums& of_group = sums[group_of(begin->access)];
    if (!predict::isSync(cell.key.operation) || samples.size() - first >= kLeastSyncs) {
      of_group.rare += takeRare(begin, samples.end());
    }
    for (auto sample = begin; sample != samples.end(); ++sample) of_group.others += sample->seconds;
  }
  for (Sample& sample : samples) {
    const auto found = sums.find(group_of(sample.access));
    if (found == sums.end() || found->second.others <= 0) continue;
    sample.seconds *= 1 + found->second.rare / found->second.others;
  }
  return samples;
}

}  // namespace omnio::access_time
