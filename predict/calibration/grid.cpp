#include "predict/calibration/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/integers.hpp"

namespace omnio::predict {
namespace {

constexpr CellOperation kMetadata[] = {CellOperation::kMkdir,   CellOperation::kCreate,
                                       CellOperation::kClose,   CellOperation::kOpen,
                                       CellOperation::kStat,    CellOperation::kFtruncate,
                                       CellOperation::kReaddir, CellOperation::kRename,
                                       CellOperation::kUnlink,  CellOperation::kRmdir};

// An application's small accesses after a pause are most of those that it waits for.
constexpr std::uint64_t kPausedSizes[] = {4096, 65536};
constexpr CellOperation kPausedMetadata[] = {
    CellOperation::kCreate,    CellOperation::kClose,  CellOperation::kOpen,  CellOperation::kStat,
    CellOperation::kFtruncate, CellOperation::kRename, CellOperation::kUnlink};

// Of all accesses, and of the time.
constexpr std::array<double, kPlannedRounds> kAccessShares = {0.02, 0.08, 0.2, 0.3, 0.4};
constexpr std::array<double, kPlannedRounds> kTimeShares = {0.15, 0.15, 0.2, 0.2, 0.3};

void addData(std::vector<Unit>& units, std::uint64_t bytes, std::uint32_t processes,
             FileSharing sharing) {
  const auto add = [&](CellOperation operation, AccessOrder order, bool extends) {
    units.push_back({.kind = UnitKind::kData,
                     .key = {.operation = operation,
                             .order = order,
                             .sharing = sharing,
                             .extends = extends,
                             .bytes = bytes,
                             .processes = processes}});
  };
  const bool is_shared = sharing == FileSharing::kShared;
  for (const CellOperation operation : {CellOperation::kRead, CellOperation::kWrite}) {
    add(operation, AccessOrder::kSequential, false);
    if (is_shared) add(operation, AccessOrder::kStrided, false);
    add(operation, AccessOrder::kRandom, false);
  }
  // In parts of their own, processes would leave holes in a shared file.
  add(CellOperation::kWrite, is_shared ? AccessOrder::kStrided : AccessOrder::kSequential, true);
}

void addPaused(std::vector<Unit>& units, std::uint64_t largest_bytes) {
  for (const std::uint64_t bytes : kPausedSizes) {
    if (bytes > largest_bytes) continue;
    for (const CellOperation operation : {CellOperation::kRead, CellOperation::kWrite}) {
      units.push_back({.kind = UnitKind::kData,
                       .key = {.operation = operation,
                               .order = AccessOrder::kSequential,
                               .extends = operation == CellOperation::kWrite,
                               .is_paused = true,
                               .bytes = bytes}});
    }
  }
  units.push_back({.kind = UnitKind::kMetadata, .key = {.is_paused = true}});
}

}  // namespace

std::vector<std::uint32_t> processLevels(std::uint32_t most) {
  std::vector<std::uint32_t> levels;
  for (std::uint64_t level = 1; level < most; level *= 2) {
    levels.push_back(static_cast<std::uint32_t>(level));
  }
  levels.push_back(most);
  return levels;
}

std::vector<Unit> unitsOf(const GridOptions& grid) {
  std::vector<Unit> units;
  for (const std::uint32_t processes : processLevels(grid.processes)) {
    for (const FileSharing sharing : {FileSharing::kOwn, FileSharing::kShared}) {
      if (sharing == FileSharing::kShared && processes == 1) continue;
      for (const std::uint64_t bytes : kSizes) {
        if (bytes <= grid.largest_bytes) addData(units, bytes, processes, sharing);
      }
      for (const std::uint64_t bytes : kSyncSizes) {
        if (bytes > grid.largest_bytes) continue;
        units.push_back({.kind = UnitKind::kSync,
                         .key = {.sharing = sharing, .bytes = bytes, .processes = processes}});
        // Each process makes files of its own: who makes one is the first to sync it.
        if (sharing == FileSharing::kShared) continue;
        units.push_back(units.back());
        units.back().key.is_new = true;
      }
      units.push_back(
          {.kind = UnitKind::kMetadata, .key = {.sharing = sharing, .processes = processes}});
    }
  }
  addPaused(units, grid.largest_bytes);
  return units;
}

std::vector<CellKey> cellsOf(const Unit& unit) {
  if (unit.kind == UnitKind::kData) {
    if (!unit.key.extends || unit.key.is_paused) return {unit.key};
    CellKey read = unit.key;
    read.operation = CellOperation::kRead;
    read.extends = false;
    read.is_new = true;
    return {unit.key, read};
  }
  std::vector<CellKey> cells;
  const auto add = [&](CellOperation operation) {
    cells.push_back(unit.key);
    cells.back().operation = operation;
  };
  if (unit.kind == UnitKind::kMetadata) {
    const std::span<const CellOperation> all(kMetadata);
    for (const CellOperation operation : unit.key.is_paused ? std::span(kPausedMetadata) : all) {
      add(operation);
    }
    return cells;
  }
  add(CellOperation::kFsync);
  if (unit.key.is_new) return cells;
  add(CellOperation::kFdatasync);
  if (unit.key.bytes > 0) add(CellOperation::kClose);
  return cells;
}

std::string whyImpossible(const Unit& unit, const GridOptions& grid) {
  if (unit.kind == UnitKind::kMetadata) return {};
  const CellKey& key = unit.key;
  if (key.bytes % grid.block_bytes != 0) {
    return fmt::format("direct I/O moves whole blocks of {} bytes", grid.block_bytes);
  }
  const bool is_shared = key.sharing == FileSharing::kShared;
  // One process alone reads and overwrites the large file, and extends one like those of others.
  const bool is_large =
      is_shared || (unit.kind == UnitKind::kData && key.processes == 1 && !key.extends);
  const std::uint64_t file = is_large ? grid.shared_file_bytes : grid.own_file_bytes;
  const std::uint64_t accesses = is_shared ? key.processes : 1;
  if (file / std::max<std::uint64_t>(key.bytes, 1) >= accesses) return {};
  return fmt::format("a file of {} bytes is too small", file);
}

std::vector<std::size_t> orderOf(std::size_t n, std::uint64_t seed, std::uint32_t round) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = n; i > 1; --i) {
    std::swap(order[i - 1], order[base::mixed(seed, round, i) % i]);
  }
  return order;
}

std::uint64_t accessesIn(std::uint32_t round, std::uint64_t wanted) {
  const double share = kAccessShares[std::min(round, kPlannedRounds - 1)];
  return std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(share * static_cast<double>(wanted) + 0.5));
}

double timeShareOf(std::uint32_t round) {
  if (round + 1 >= kPlannedRounds) return 1;
  const double left = std::accumulate(kTimeShares.begin() + round, kTimeShares.end(), 0.0);
  return kTimeShares[round] / left;
}

double weightOf(const Unit& unit) {
  constexpr double kOfSyncs = 12, kOfMetadata = 4;
  if (unit.kind == UnitKind::kMetadata) return kOfMetadata;
  return unit.kind == UnitKind::kSync ? kOfSyncs : 1;
}

std::int64_t fairSlice(std::vector<Share> shares, std::int64_t time_ns) {
  constexpr double kMost = 1e18;
  const auto need = [](const Share& share) {
    return static_cast<double>(share.cost_ns) / share.weight;
  };
  std::ranges::sort(shares, {}, need);
  double weights = 0;
  for (const Share& share : shares) weights += share.weight;
  auto left = static_cast<double>(std::max<std::int64_t>(time_ns, 0));
  for (const Share& share : shares) {
    const double slice = left / weights;
    if (need(share) >= slice) return static_cast<std::int64_t>(std::min(slice, kMost));
    left -= static_cast<double>(share.cost_ns);
    weights -= share.weight;
  }
  return std::numeric_limits<std::int64_t>::max();
}

}  // namespace omnio::predict
