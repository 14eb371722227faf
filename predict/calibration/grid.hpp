// Which cells a calibration has, in which order they are measured, and how the time is shared out
// among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "predict/calibration/document.hpp"

namespace omnio::predict {

// The sizes of Schmid and Kunkel.
inline constexpr std::uint64_t kSizes[] = {
    1,        4,         16,        64,      256,     1 << 10, 4 << 10, 8 << 10, 16 << 10,
    64 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20};
// What is written before a sync.
inline constexpr std::uint64_t kSyncSizes[] = {0, 4 << 10, 64 << 10, 1 << 20, 16 << 20};
// Accesses of a cell that a document keeps.
inline constexpr std::size_t kMostSampled = 1000;

struct GridOptions {
  std::uint32_t processes = 1;
  std::uint64_t largest_bytes = 16 << 20;
  std::uint64_t block_bytes = 1;  // of O_DIRECT; 1 without it
  std::uint64_t shared_file_bytes = 0;
  std::uint64_t own_file_bytes = 0;
};

enum class UnitKind : std::uint8_t {
  kData,      // one cell; with writes that extend a file, the reads of what they wrote
  kSync,      // fsync, fdatasync and close after so many bytes
  kMetadata,  // a round through all other operations
};

// What is measured in one go.
struct Unit {
  UnitKind kind = UnitKind::kData;
  CellKey key;  // of kData its first cell; else its processes, files and bytes
};

// 1, 2, 4, ... and `most`.
std::vector<std::uint32_t> processLevels(std::uint32_t most);
// All of the grid, also those that cannot be measured.
std::vector<Unit> unitsOf(const GridOptions& grid);
std::vector<CellKey> cellsOf(const Unit& unit);
// Why the unit cannot be measured; empty when it can.
std::string whyImpossible(const Unit& unit, const GridOptions& grid);

// 0 to n-1 in the random order of this round.
std::vector<std::size_t> orderOf(std::size_t n, std::uint64_t seed, std::uint32_t round);

// The first rounds make few accesses in each cell, so that an interruption leaves an even picture;
// together they make all that are wanted. Rounds after them, for cells that could not make as many
// in the time, are like the last.
inline constexpr std::uint32_t kPlannedRounds = 5;
std::uint64_t accessesIn(std::uint32_t round, std::uint64_t wanted);
// The part of the time that is left which the round may take.
double timeShareOf(std::uint32_t round);

// How much of the time a unit gets, of what one of reads or writes does. Syncs wait for storage,
// also where reads and writes are in memory: most of an application's time may be theirs, and they
// are few units of several operations each. The time of one differs the most from that of the next.
double weightOf(const Unit& unit);

struct Share {
  std::int64_t cost_ns = 0;
  double weight = 1;
};
// The most time that each may have for each 1 of its weight, when each takes no more than it costs,
// so that all together take no more than `time_ns`.
std::int64_t fairSlice(std::vector<Share> shares, std::int64_t time_ns);

}  // namespace omnio::predict
