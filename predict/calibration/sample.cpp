#include "predict/calibration/sample.hpp"

#include <algorithm>
#include <vector>

#include "predict/calibration/grid.hpp"

namespace omnio::predict {

std::size_t sampleOf(const Cell& cell, std::uint64_t wanted,
                     std::span<const AccessRecord> records) {
  const std::size_t sampled = cell.sampled();
  if (sampled >= kMostSampled) return 0;
  const auto made = static_cast<std::uint64_t>(
      std::ranges::count(records, cell.key.operation, &AccessRecord::operation));
  const std::uint64_t all = std::max<std::uint64_t>(1, wanted * cell.key.processes);
  // Rounded up, so that no batch is without one.
  const std::uint64_t share = (made * kMostSampled + all - 1) / all;
  return std::min(
      {static_cast<std::size_t>(made), static_cast<std::size_t>(share), kMostSampled - sampled});
}

void addBatch(Cell& cell, std::span<const AccessRecord> records, std::uint32_t process,
              std::size_t sampled, const BatchTimes& times) {
  std::vector<AccessRecord> mine;
  std::ranges::copy_if(records, std::back_inserter(mine), [&](const AccessRecord& record) {
    return record.operation == cell.key.operation;
  });
  const bool has_offsets = isAccess(cell.key.operation);
  const auto timeOf = [&times](const AccessRecord& record) {
    return std::max<std::int64_t>(0, record.time_ns - times.clock_ns);
  };
  for (const AccessRecord& record : mine) cell.all.add(timeOf(record));
  const auto addRun = [&](std::size_t begin, std::size_t end) {
    if (begin == end) return;
    AccessRun run{.round = times.round,
                  .process = process,
                  .begin_ns = std::max<std::int64_t>(0, mine[begin].begin_ns - times.epoch_ns)};
    if (has_offsets && begin > 0) {
      run.position = mine[begin - 1].offset + static_cast<std::int64_t>(cell.key.bytes);
    }
    for (std::size_t i = begin; i < end; ++i) {
      run.times_ns.push_back(timeOf(mine[i]));
      if (has_offsets) run.offsets.push_back(mine[i].offset);
    }
    cell.runs.push_back(std::move(run));
  };
  const std::size_t taken = std::min(sampled, mine.size());
  if (taken == mine.size()) return addRun(0, mine.size());
  const std::size_t first = (taken + 1) / 2;
  addRun(0, first);
  addRun(mine.size() - (taken - first), mine.size());
}

}  // namespace omnio::predict
