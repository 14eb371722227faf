// What was measured of a storage target, access by access (docs/formats/calibration.md).
//
// The grid of sizes, sequential and random, is that of J. F. Schmid, J. M. Kunkel: "Predicting I/O
// Performance in HPC Using Artificial Neural Networks" (Supercomputing Frontiers and Innovations
// 3(3), 2016).
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/storage/target_storage.hpp"
#include "predict/calibration/time_summary.hpp"

namespace omnio::predict {

inline constexpr int kCalibrationVersion = 1;

// Declared, and brought about before each batch of accesses.
enum class CacheState : std::uint8_t {
  kCached,  // reads find the file in the page cache, writes go into it
  kDirect,  // O_DIRECT
  kCold,    // as cached, but the pages of the file are dropped before each batch
};

enum class CellOperation : std::uint8_t {
  kRead,
  kWrite,
  kFsync,      // `bytes` were written since the last one
  kFdatasync,  // the same
  kClose,      // `bytes` were written since the file was opened; 0: nothing was
  kOpen,       // a file that is there, for reading and writing
  kCreate,     // a new file, by open
  kStat,
  kReaddir,  // all entries of a directory with kEntries of them
  kRename,   // within a directory
  kFtruncate,
  kUnlink,
  kMkdir,
  kRmdir,
};
// What a directory of readdir has in it.
inline constexpr int kEntries = 64;

enum class AccessOrder : std::uint8_t {
  kNone,        // operations that neither read nor write
  kSequential,  // each access begins where the one before ended; processes have own parts of a file
  kStrided,     // the processes take turns in a shared file, access by access
  kRandom,      // at multiples of the size
};

// How processes at once use the target. One process alone has own files.
enum class FileSharing : std::uint8_t {
  kOwn,     // each has a file (N-N), or for metadata a directory
  kShared,  // all have one file (N-1), or directory
};

inline constexpr std::int64_t kCalibratedPauseNs = 500'000;

// What a cell of the grid measures.
struct CellKey {
  CellOperation operation = CellOperation::kRead;
  AccessOrder order = AccessOrder::kNone;
  FileSharing sharing = FileSharing::kOwn;
  bool extends = false;  // writes: the file grows by them, else its bytes were there before
  // fsync: the file was made since the last one. Reads: of what the process has just written, and
  // not read since.
  bool is_new = false;
  // The process slept for kCalibratedPauseNs before, and has done nothing of the kind since: its
  // processor has other things in its caches, as that of an application that computes.
  bool is_paused = false;
  std::uint64_t bytes = 0;      // of an access; 0 where there are none
  std::uint32_t processes = 1;  // at once

  auto operator<=>(const CellKey&) const = default;
};

// Accesses of one process, one after another, with nothing of its own in between.
struct AccessRun {
  std::uint32_t round = 0;
  std::uint32_t process = 0;  // below CellKey::processes
  std::int64_t begin_ns = 0;  // of the first access, since the calibration began
  // The end of the access before the first one, for delta-offsets. The file is opened before each
  // batch: 0.
  std::int64_t position = 0;
  std::vector<std::int64_t> times_ns = {};
  std::vector<std::int64_t> offsets = {};  // one for each time; empty where the operation has none

  // offset[i] - (offset[i-1] + bytes), as in the paper.
  std::int64_t deltaOffset(std::size_t i, std::uint64_t bytes) const;
};

struct Cell {
  CellKey key;
  TimeSummary all = {};  // of all accesses, those of the sample too
  std::vector<AccessRun> runs =
      {};  // the sample, in the order of measuring: by round, then process
  // Writes without O_DIRECT: what was written back after the batches, and how long that took by
  // fdatasync. These are not accesses.
  std::uint64_t writeback_bytes = 0;
  std::int64_t writeback_ns = 0;

  std::size_t sampled() const;  // accesses in `runs`
};

struct Unreached {
  CellKey key;
  std::string reason;          // text
  bool is_impossible = false;  // more time would not help
};

// The reference cell (4 KiB, random reads by one process), measured again and again.
struct Reference {
  std::uint32_t round = 0;
  std::int64_t begin_ns = 0;  // since the calibration began
  std::uint32_t accesses = 0;
  std::int64_t mean_ns = 0;
  std::int64_t median_ns = 0;
};

// All strings are text (core/base/printable.hpp).
struct CalibratedTarget {
  std::string path;
  std::string file_system;  // "ext4"
  std::string mount;        // "/scratch ext4 /dev/sda1": point, type, source
  std::uint64_t size_bytes = 0;
  std::string host;
  std::string kernel;  // "Linux 6.1.0"
  std::uint32_t processors = 1;
  std::uint64_t memory_bytes = 0;
};

// What was found of the pages of the files in this node's page cache, before batches that read.
struct CacheCheck {
  bool is_automatic = false;  // the state was chosen for the target, and not asked for
  std::uint64_t checks = 0;   // 0: the file system does not say which pages are in memory
  double least_percent = 0;   // resident
  double most_percent = 0;
};

struct Calibration {
  std::string tool;  // "omnio 0.1.0"
  std::string date;  // when it began: 2026-11-27T11:00:00Z
  CalibratedTarget target;
  CacheState cache = CacheState::kCached;
  CacheCheck cache_check;
  std::uint64_t seed = 0;
  std::int64_t budget_ns = 0;
  std::int64_t spent_ns = 0;     // of all sessions, where it was resumed
  std::int64_t reserved_ns = 0;  // of the budget, for training models
  std::uint32_t sessions = 1;
  std::uint32_t processes = 1;      // the largest number at once
  std::uint64_t accesses = 0;       // wanted of each cell, of each of its processes
  std::uint64_t largest_bytes = 0;  // of an access
  std::uint64_t shared_file_bytes = 0;
  std::uint64_t own_file_bytes = 0;
  std::uint64_t directory_names = 0;  // kept in the directory of each process, on average
  // Memory of accesses began where malloc has it; on page boundaries for direct I/O.
  bool has_malloc_memory = false;
  std::uint32_t rounds = 0;   // over all cells, which were completed
  std::int64_t clock_ns = 0;  // a reading of the clock; subtracted from all times
  // While accesses were measured: `synced` is what was written back after batches. Of all sessions,
  // but the nodes of the last one; nothing where none has ended.
  std::optional<storage::TargetStorage> storage;
  std::vector<Reference> references;  // by time
  std::vector<Cell> cells;            // by key, each once, with at least one access
  std::vector<Unreached> unreached;   // by key; no cell is in both

  const Cell* find(const CellKey& key) const;
};

// How much the target varied while it was measured, from the medians of the reference cell.
struct Noise {
  double drift_percent = 0;  // from the first to the last, in percent of their median
  double floor_percent = 0;  // standard deviation of what is left; a few outliers do not count
};
// Nothing with fewer than three references.
std::optional<Noise> noiseOf(const std::vector<Reference>& references);

// The words of the document: "read", "sequential", "own", "cached".
std::string_view nameOf(CellOperation operation);
std::string_view nameOf(AccessOrder order);
std::string_view nameOf(FileSharing sharing);
std::string_view nameOf(CacheState state);
std::optional<CacheState> cacheStateOf(std::string_view word);
// Whether it moves data: kRead and kWrite.
bool isAccess(CellOperation operation);
bool isSync(CellOperation operation);  // fsync and fdatasync
// "4 KiB random reads by 2 processes in a shared file"
std::string textOf(const CellKey& key);

// Fails with one sentence that names file, line, column and reason: not JSON, not a calibration, of
// another version; members that are unknown or not there, numbers that contradict each other.
base::Result<Calibration> readCalibration(const std::filesystem::path& path);
base::Result<void> writeCalibration(const std::filesystem::path& path,
                                    const Calibration& calibration);
std::string jsonOf(const Calibration& calibration);  // the document, with the newline

}  // namespace omnio::predict
