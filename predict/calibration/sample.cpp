#include "predict/calibration/sample.hpp"

#include <algorithm>
#include <vector>

namespace omnio::predict {

SampleLimits sampleLimits(std::size_t cells) {
  // In the document: the key, sums and histogram of a cell; a run without its accesses; the time
  // and the offset of an access.
  constexpr std::size_t kCellBytes = 4096;
  constexpr std::size_t kRunBytes = 224;
  constexpr std::size_t kAccessBytes = 32;
  const std::size_t share = kMostDocumentBytes / std::max<std::size_t>(1, cells);
  const std::size_t room = share > 2 * kCellBytes ? share - kCellBytes : kCellBytes;
  SampleLimits limits;
  limits.accesses = std::min(kMostSampled, room / 2 / kAccessBytes);
  limits.runs = std::min(limits.runs, (room - limits.accesses * kAccessBytes) / kRunBytes);
  return limits;
}

std::size_t sampleOf(const Cell& cell, const SamplePlan& plan, std::uint32_t round,
                     std::uint32_t process, std::span<const AccessRecord> records) {
  const SampleLimits& limits = plan.limits;
  const std::size_t sampled = cell.sampled();
  constexpr std::size_t kRunsOfBatch = 2;
  if (sampled >= limits.accesses || cell.runs.size() + kRunsOfBatch > limits.runs) return 0;
  // One of so many processes has runs.
  const std::size_t runs = cell.key.processes * std::size_t{kPlannedRounds} * kRunsOfBatch;
  const std::size_t every = (runs + limits.runs - 1) / limits.runs;
  if ((std::size_t{process} + round) % every != 0) return 0;
  const auto made = static_cast<std::uint64_t>(
      std::ranges::count(records, cell.key.operation, &AccessRecord::operation));
  const std::uint64_t all = std::max<std::uint64_t>(1, plan.wanted * cell.key.processes);
  // Rounded up, so that no batch is without one.
  const std::uint64_t share = (made * limits.accesses * every + all - 1) / all;
  // Slow accesses never come to as many as are wanted: all of a few are kept.
  const bool is_slow = made < accessesIn(round, plan.wanted) &&
                       cell.all.count() + made * cell.key.processes <= limits.accesses;
  const std::uint64_t part =
      is_slow ? limits.accesses * every / (cell.key.processes * kPlannedRounds) : 0;
  return std::min({static_cast<std::size_t>(made), static_cast<std::size_t>(std::max(share, part)),
                   limits.accesses - sampled});
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
