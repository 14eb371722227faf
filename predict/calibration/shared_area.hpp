// What the processes of a calibration have in common: the order to carry out, barriers, and the
// results. It lies in memory that all of them map.
//
// The coordinator starts the others by fork, on its own node. A launcher that starts them
// elsewhere would replace the area and the semaphores (worker_pool.cpp) and nothing else.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstdint>

#include "predict/calibration/document.hpp"
#include "predict/calibration/grid.hpp"

namespace omnio::predict {

enum class OrderKind : std::uint8_t { kPrepare, kUnit };

// What workers do next. Times are those of the monotonic clock.
struct WorkOrder {
  OrderKind kind = OrderKind::kUnit;
  UnitKind unit = UnitKind::kData;
  CellKey key;  // key.processes workers take part
  CacheState cache = CacheState::kCached;
  std::uint64_t accesses = 1;    // of each process, and of each of several operations
  std::int64_t limit_ns = 0;     // no access begins later than this after the first
  std::uint64_t most_bytes = 0;  // that a process writes, if that is more than one access
  std::uint64_t seed = 0;
  std::uint64_t shared_file_bytes = 0;
  std::uint64_t own_file_bytes = 0;
  std::uint64_t names = 0;       // of kPrepare: in the directory of each process
  std::int64_t names_ns = 0;     // of kPrepare: the time that a process has for a directory of them
  std::int64_t deadline_ns = 0;  // of kPrepare: files stay smaller where it comes before their end
};

struct AccessRecord {
  CellOperation operation = CellOperation::kRead;
  std::int64_t begin_ns = 0;
  std::int64_t time_ns = 0;  // with the reading of the clock in it
  std::int64_t offset = 0;
};

struct alignas(64) WorkerSlot {
  sem_t go;
  sem_t done;
  int error = 0;        // errno of what failed
  char what[256] = {};  // "cannot write 4096 bytes at offset 0 of own.0"; what failed
  std::uint64_t records = 0;
  std::uint64_t writeback_bytes = 0;
  std::int64_t writeback_ns = 0;
  double resident_percent = -1;  // of the file before reads; < 0: not known, or not looked at
  std::uint64_t own_bytes = 0;   // kPrepare: of the file of its own
  std::uint64_t names = 0;       // kPrepare: that it left in its own directory
  std::uint64_t shared_end = 0;  // kPrepare: the shared file has no gap of this process below this
};

struct SharedArea {
  std::atomic<std::uint32_t> stops = 0;   // all work ends
  std::atomic<std::uint32_t> failed = 0;  // the order is given up
  std::atomic<std::uint32_t> arrived = 0;
  std::atomic<std::uint32_t> generation = 0;   // of the barrier
  std::atomic<std::uint32_t> finished = 0;     // processes that made all accesses
  std::atomic<std::uint32_t> has_no_room = 0;  // for more names
  std::atomic<std::uint64_t> turns = 0;        // of syncs that begin together, in all
  WorkOrder order;

  bool isOver() const { return stops.load() != 0 || failed.load() != 0; }
  // Waits for the processes of the order. False when the order is given up.
  bool meet();
};

std::int64_t monotonicNs();

}  // namespace omnio::predict
