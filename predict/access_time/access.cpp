#include "predict/access_time/access.hpp"

#include <cstddef>

namespace omnio::access_time {

namespace {

double meanOfSample(const predict::Cell& cell) {
  double sum_ns = 0, count = 0;
  for (const predict::AccessRun& run : cell.runs) {
    for (const std::int64_t time_ns : run.times_ns) sum_ns += static_cast<double>(time_ns);
    count += static_cast<double>(run.times_ns.size());
  }
  return count > 0 ? sum_ns / count : 0;
}

}  // namespace

Samples samplesOf(const predict::Calibration& calibration, bool exact) {
  constexpr double kNs = 1e-9;
  Samples samples;
  for (const predict::Cell& cell : calibration.cells) {
    const double mean_ns = meanOfSample(cell);
    const double stretch = exact && mean_ns > 0 ? cell.all.meanNs() / mean_ns : 1;
    for (const predict::AccessRun& run : cell.runs) {
      std::int64_t start_ns = run.begin_ns;
      for (std::size_t i = 0; i < run.times_ns.size(); ++i) {
        Sample sample{.access = {.operation = cell.key.operation,
                                 .order = cell.key.order,
                                 .sharing = cell.key.sharing,
                                 .extends = cell.key.extends,
                                 .bytes = static_cast<double>(cell.key.bytes),
                                 .delta_offset = 0,
                                 .processes = static_cast<double>(cell.key.processes)},
                      .seconds = static_cast<double>(run.times_ns[i]) * stretch * kNs,
                      .round = static_cast<int>(run.round),
                      .start_ns = start_ns,
                      .process = static_cast<int>(run.process)};
        if (!run.offsets.empty()) sample.access.delta_offset = run.deltaOffset(i, cell.key.bytes);
        start_ns += run.times_ns[i];
        samples.push_back(sample);
      }
    }
  }
  return samples;
}

}  // namespace omnio::access_time
