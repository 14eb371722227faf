#include "predict/calibration/grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "core/base/integers.hpp"
#include "predict/calibration/access_plan.hpp"
#include "predict/calibration/file_sizes.hpp"
#include "predict/calibration/sample.hpp"

namespace omnio::predict {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(CalibrationGrid, HasTheSizesOfThePaper) {
  // Schmid and Kunkel: 1 B to 16 MiB, sequential and random, read and write.
  std::set<std::uint64_t> found[2][2];
  for (const Unit& unit : unitsOf({.processes = 1})) {
    if (unit.kind != UnitKind::kData || unit.key.extends) continue;
    found[unit.key.operation == CellOperation::kWrite][unit.key.order == AccessOrder::kRandom]
        .insert(unit.key.bytes);
  }
  const std::set<std::uint64_t> paper = {1,       4,       16,      64,      256,     1024,
                                         4096,    8192,    16384,   65536,   262144,  524288,
                                         1048576, 2097152, 4194304, 8388608, 16777216};
  for (const auto& row : found) {
    for (const auto& sizes : row) EXPECT_EQ(sizes, paper);
  }
}

TEST(CalibrationGrid, ProcessesAreTheirPowersOfTwoAndTheLast) {
  EXPECT_EQ(processLevels(1), std::vector<std::uint32_t>({1}));
  EXPECT_EQ(processLevels(2), std::vector<std::uint32_t>({1, 2}));
  EXPECT_EQ(processLevels(6), std::vector<std::uint32_t>({1, 2, 4, 6}));
}

TEST(CalibrationGrid, EachCellIsInOneUnitButClosing) {
  std::set<CellKey> keys;
  for (const Unit& unit : unitsOf({.processes = 4})) {
    EXPECT_FALSE(cellsOf(unit).empty());
    for (const CellKey& key : cellsOf(unit)) {
      EXPECT_TRUE(keys.insert(key).second) << textOf(key);
      EXPECT_TRUE(key.processes > 1 || key.sharing == FileSharing::kOwn);
    }
  }
}

TEST(CalibrationGrid, ARoundHasEachUnitOnceInAnOrderOfItsOwn) {
  std::set<std::vector<std::size_t>> orders;
  for (const std::uint64_t seed : {1, 2}) {
    for (const std::uint32_t round : {0, 1}) {
      std::vector<std::size_t> order = orderOf(100, seed, round);
      EXPECT_EQ(order, orderOf(100, seed, round));
      orders.insert(order);
      std::ranges::sort(order);
      std::vector<std::size_t> all(100);
      std::iota(all.begin(), all.end(), std::size_t{0});
      EXPECT_EQ(order, all);
    }
  }
  EXPECT_EQ(orders.size(), 4U);
}

TEST(CalibrationGrid, PlannedRoundsMakeAllAccesses) {
  for (const std::uint64_t wanted : {100, 1000, 10000}) {
    std::uint64_t sum = 0;
    for (std::uint32_t round = 0; round < kPlannedRounds; ++round) {
      sum += accessesIn(round, wanted);
    }
    EXPECT_EQ(sum, wanted);
  }
  EXPECT_EQ(accessesIn(0, 1), 1U);
  EXPECT_EQ(timeShareOf(kPlannedRounds - 1), 1);
  EXPECT_EQ(timeShareOf(kPlannedRounds + 5), 1);
}

std::vector<Share> sharesOf(const std::vector<std::int64_t>& costs) {
  std::vector<Share> shares;
  for (const std::int64_t cost : costs) shares.push_back({.cost_ns = cost});
  return shares;
}

TEST(CalibrationGrid, CheapUnitsLeaveTheirTimeToOthers) {
  EXPECT_EQ(fairSlice(sharesOf({10, 10, 10}), 30), 10);
  EXPECT_EQ(fairSlice(sharesOf({10, 1000, 1000}), 110), 50);
  EXPECT_EQ(fairSlice(sharesOf({1000, 10, 20, 1000}), 110), 40);
  EXPECT_EQ(fairSlice(sharesOf({1000, 1000}), -5), 0);
  EXPECT_GT(fairSlice(sharesOf({10, 20}), 100), 100);
  // As much as is given, and never more.
  const std::vector<std::int64_t> costs = {7, 90, 33, 500, 2, 61};
  for (std::int64_t time = 0; time < 600; time += 13) {
    const std::int64_t slice = fairSlice(sharesOf(costs), time);
    std::int64_t sum = 0;
    for (const std::int64_t cost : costs) sum += std::min(cost, slice);
    EXPECT_LE(sum, time);
    EXPECT_GT(sum, time - 6);
  }
}

TEST(CalibrationGrid, UnitsWithMoreWeightGetMoreOfTheTime) {
  EXPECT_EQ(fairSlice({{.cost_ns = 1000}, {.cost_ns = 1000, .weight = 4}}, 100), 20);
  // 80 would be its part: what it does not need is for the other one.
  EXPECT_EQ(fairSlice({{.cost_ns = 1000}, {.cost_ns = 40, .weight = 4}}, 100), 60);
  const Unit data{.kind = UnitKind::kData, .key = {}};
  const Unit sync{.kind = UnitKind::kSync, .key = {}};
  EXPECT_EQ(weightOf(data), 1);
  const Unit shared{.kind = UnitKind::kSync, .key = {.sharing = FileSharing::kShared}};
  const Unit metadata{.kind = UnitKind::kMetadata, .key = {}};
  EXPECT_EQ(weightOf(shared), weightOf(sync));
  EXPECT_GT(weightOf(metadata), 1);
  EXPECT_GT(weightOf(sync), weightOf(metadata));
}

TEST(CalibrationGrid, WhatCannotBeMeasuredHasAReason) {
  const GridOptions grid{
      .processes = 2, .block_bytes = 512, .shared_file_bytes = kMiB, .own_file_bytes = 4096};
  const auto why = [&grid](const CellKey& key) {
    return whyImpossible({.kind = UnitKind::kData, .key = key}, grid);
  };
  CellKey key{.operation = CellOperation::kRead, .order = AccessOrder::kRandom, .bytes = 256};
  EXPECT_EQ(why(key), "direct I/O moves whole blocks of 512 bytes");
  key.bytes = kMiB;
  EXPECT_EQ(why(key), "");  // one process uses the large file
  key.processes = 2;
  EXPECT_EQ(why(key), "a file of 4096 bytes is too small");
  key.sharing = FileSharing::kShared;
  EXPECT_EQ(why(key), "a file of 1048576 bytes is too small");
  key.bytes = kMiB / 2;
  EXPECT_EQ(why(key), "");
  EXPECT_EQ(whyImpossible({.kind = UnitKind::kMetadata, .key = {.processes = 2}}, grid), "");
}

std::vector<std::int64_t> offsetsOf(AccessOrder order, FileSharing sharing, std::uint32_t process,
                                    std::uint64_t accesses, bool extends = false) {
  return accessOffsets({.key = {.operation = CellOperation::kWrite,
                                .order = order,
                                .sharing = sharing,
                                .extends = extends,
                                .bytes = 100,
                                .processes = 2},
                        .process = process,
                        .file_bytes = 10'000,
                        .accesses = accesses,
                        .seed = 5});
}

TEST(CalibrationAccesses, OrdersAreWhatTheirNamesSay) {
  using enum AccessOrder;
  using enum FileSharing;
  const auto own = offsetsOf(kSequential, kOwn, 1, 20);
  for (std::size_t i = 1; i < own.size(); ++i) EXPECT_EQ(own[i], (own[i - 1] + 100) % 10'000);
  const auto fresh = offsetsOf(kSequential, kOwn, 0, 3, true);
  EXPECT_EQ(fresh, std::vector<std::int64_t>({0, 100, 200}));
  EXPECT_EQ(offsetsOf(kStrided, kShared, 0, 3, true), std::vector<std::int64_t>({0, 200, 400}));
  EXPECT_EQ(offsetsOf(kStrided, kShared, 1, 3, true), std::vector<std::int64_t>({100, 300, 500}));
  // Each has a half of the file.
  for (const std::int64_t offset : offsetsOf(kSequential, kShared, 0, 1000)) {
    EXPECT_LT(offset, 5000);
  }
  for (const std::int64_t offset : offsetsOf(kSequential, kShared, 1, 1000)) {
    EXPECT_GE(offset, 5000);
  }
}

TEST(CalibrationAccesses, NoPlaceIsVisitedTwiceInABatch) {
  for (const AccessOrder order :
       {AccessOrder::kSequential, AccessOrder::kStrided, AccessOrder::kRandom}) {
    std::set<std::int64_t> seen;
    const auto offsets = offsetsOf(order, FileSharing::kShared, 1, 5000);
    EXPECT_FALSE(offsets.empty());
    for (const std::int64_t offset : offsets) {
      EXPECT_TRUE(seen.insert(offset).second);
      EXPECT_EQ(offset % 100, 0);
      EXPECT_LE(offset + 100, 10'000);
    }
  }
  EXPECT_EQ(accessOffsets({.key = {.order = AccessOrder::kRandom, .bytes = kMiB},
                           .file_bytes = kMiB,
                           .accesses = 10}),
            std::vector<std::int64_t>({0}));
}

TEST(CalibrationSizes, FilesFitTheRoomAndTheMemory) {
  RoomOptions room{.target = "/t",
                   .cache = CacheState::kCached,
                   .processes = 4,
                   .largest_bytes = 16 * kMiB,
                   .memory_bytes = 64 * 1024 * kMiB,
                   .free_bytes = 1024 * 1024 * kMiB};
  const auto large = chooseSizes(room);
  ASSERT_TRUE(large);
  EXPECT_EQ(large->shared_bytes, 1024 * kMiB);
  for (const std::uint64_t free : {300, 1000, 3000, 10'000}) {
    room.free_bytes = free * kMiB;
    const auto sizes = chooseSizes(room);
    if (!sizes) {
      EXPECT_EQ(sizes.failure().sentence,
                "/t: too little room: 384 MiB are needed, and 300 MiB are free; a smaller "
                "--largest or fewer --processes need less");
      continue;
    }
    EXPECT_LE(bytesNeeded(*sizes, 4), *room.free_bytes);
    EXPECT_GE(sizes->own_bytes, 2 * room.largest_bytes);
    EXPECT_GE(sizes->shared_bytes, 4 * room.largest_bytes);
    if (free < 1000) continue;
    EXPECT_LE(bytesNeeded(*sizes, 4), *room.free_bytes / 2);
  }
  room.free_bytes.reset();
  room.memory_bytes = 512 * kMiB;
  EXPECT_FALSE(chooseSizes(room));
  room.cache = CacheState::kCold;
  EXPECT_TRUE(chooseSizes(room));
}

// Slow accesses never come to as many as are wanted.
TEST(CalibrationSample, KeepsAllOfABatchWithFew) {
  const Cell cell{.key = {.operation = CellOperation::kFsync, .bytes = 4096, .processes = 4}};
  const std::vector<AccessRecord> few(70, {.operation = CellOperation::kFsync});
  EXPECT_EQ(sampleOf(cell, {.wanted = 1000}, 1, 3, few), 50U);  // a twentieth of the sample
  EXPECT_EQ(sampleOf(cell, {.wanted = 1000}, 1, 3, std::span(few).first(20)), 20U);
  const std::vector<AccessRecord> all(80, {.operation = CellOperation::kFsync});
  EXPECT_EQ(sampleOf(cell, {.wanted = 1000}, 1, 3, all), 20U);  // a quarter of them
}

TEST(CalibrationSample, KeepsSumsOfAllAndRunsOfAFew) {
  Cell cell{
      .key = {.operation = CellOperation::kRead, .order = AccessOrder::kSequential, .bytes = 10}};
  std::vector<AccessRecord> records;
  std::int64_t total = 0;
  for (int i = 0; i < 2000; ++i) {
    records.push_back({.begin_ns = 1000 + 100 * i, .time_ns = 20 + i, .offset = 10 * i});
    total += i;
  }
  records.push_back({.operation = CellOperation::kClose, .begin_ns = 5, .time_ns = 5});
  const BatchTimes times{.round = 2, .epoch_ns = 1000, .clock_ns = 20};
  // A fifth of the 10,000 that are wanted gets a fifth of the sample.
  const SamplePlan plan{.wanted = 10'000};
  EXPECT_EQ(sampleOf(cell, plan, 0, 0, records), kMostSampled / 5);
  addBatch(cell, records, 0, 200, times);
  EXPECT_EQ(cell.all.count(), 2000U);
  EXPECT_EQ(cell.all.totalNs(), total);
  EXPECT_EQ(cell.sampled(), 200U);
  ASSERT_EQ(cell.runs.size(), 2U);
  EXPECT_EQ(cell.runs[0].begin_ns, 0);
  EXPECT_EQ(cell.runs[0].times_ns.front(), 0);
  EXPECT_EQ(cell.runs[0].position, 0);
  EXPECT_EQ(cell.runs[1].times_ns.back(), 1999);
  EXPECT_EQ(cell.runs[1].deltaOffset(0, 10), 0);
  EXPECT_EQ(cell.runs[1].round, 2U);
  for (int i = 0; i < 20; ++i) {
    addBatch(cell, records, 0, sampleOf(cell, plan, 0, 0, records), times);
  }
  EXPECT_EQ(cell.sampled(), kMostSampled);
  EXPECT_EQ(cell.all.count(), 42'000U);
}

// All cells of the grid as the fullest one: times and offsets of many digits, each access another
// time, and random offsets.
std::size_t documentBytes(std::uint32_t processes, std::size_t& least_runs) {
  constexpr std::uint64_t kWanted = 200;
  std::set<CellKey> keys;
  for (const Unit& unit : unitsOf({.processes = processes})) {
    for (const CellKey& key : cellsOf(unit)) keys.insert(key);
  }
  const SamplePlan plan{.wanted = kWanted, .limits = sampleLimits(keys.size())};
  std::size_t bytes = 0;
  for (const std::uint32_t level : processLevels(processes)) {
    Calibration calibration;
    calibration.rounds = kPlannedRounds;
    calibration.processes = processes;
    calibration.cells.push_back(
        {.key = {.operation = CellOperation::kWrite,
                 .order = AccessOrder::kRandom,
                 .sharing = level == 1 ? FileSharing::kOwn : FileSharing::kShared,
                 .bytes = 4096,
                 .processes = level}});
    Cell& cell = calibration.cells.front();
    for (std::uint32_t round = 0; round < kPlannedRounds; ++round) {
      const BatchTimes times{.round = round};
      std::set<std::uint32_t> seen;
      for (std::uint32_t process = 0; process < level; ++process) {
        std::vector<AccessRecord> records;
        for (std::uint64_t i = 0; i < accessesIn(round, kWanted); ++i) {
          const std::uint64_t draw = base::mixed(process, round, i);
          records.push_back(
              {.operation = CellOperation::kWrite,
               .begin_ns = static_cast<std::int64_t>(360'000'000'000'000 + draw % 1000),
               .time_ns = static_cast<std::int64_t>(draw % 1'000'000'000'000 >> (draw >> 40) % 40),
               .offset = static_cast<std::int64_t>(draw % (std::uint64_t{1} << 31) * 4096)});
        }
        addBatch(cell, records, process, sampleOf(cell, plan, round, process, records), times);
        if (!cell.runs.empty() && cell.runs.back().round == round) {
          seen.insert(cell.runs.back().process);
        }
      }
      EXPECT_GE(seen.size(), std::min<std::size_t>(level, 4)) << level << " in round " << round;
    }
    least_runs = std::min(least_runs, cell.runs.size());
    EXPECT_LE(cell.sampled(), kMostSampled);
    const std::size_t of_level = std::ranges::count(keys, level, &CellKey::processes);
    bytes += of_level * jsonOf(calibration).size();
  }
  return bytes;
}

TEST(CalibrationSample, ADocumentStaysBelowItsBoundWhateverTheProcesses) {
  for (const std::uint32_t processes : {1U, 64U, 4096U}) {
    std::size_t least_runs = 1000;
    const std::size_t bytes = documentBytes(processes, least_runs);
    EXPECT_LE(bytes, kMostDocumentBytes) << processes;
    EXPECT_GE(least_runs, 5U) << processes;
    RecordProperty("bytes_" + std::to_string(processes), std::to_string(bytes));
  }
}

// With few processes all of them have runs, in every round.
TEST(CalibrationSample, FewProcessesAreAllSampled) {
  std::size_t cells = 0;
  for (const Unit& unit : unitsOf({.processes = 16})) cells += cellsOf(unit).size();
  const SampleLimits limits = sampleLimits(cells);
  EXPECT_EQ(limits.accesses, kMostSampled);
  EXPECT_GE(limits.runs, 16 * kPlannedRounds * 2);
}

}  // namespace
}  // namespace omnio::predict
