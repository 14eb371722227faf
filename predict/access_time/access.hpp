// One access to storage, as far as its time depends on it, and measured accesses to learn from.
//
// L. Schmid, J. Kunkel: Predicting I/O Performance in HPC Using Artificial Neural Networks
// (Supercomputing Frontiers and Innovations 3(3), 2016). The paper's inputs are size, operation and
// delta-offset. The number of processes that use the target at once, whether they share a file, and
// whether a write makes the file longer are more here, and metadata calls and syncs are accesses
// too.
#pragma once

#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "predict/calibration/document.hpp"

namespace omnio::access_time {

using predict::AccessOrder;
using predict::CellOperation;
using predict::FileSharing;

struct Access {
  CellOperation operation = CellOperation::kRead;
  AccessOrder order = AccessOrder::kNone;
  FileSharing sharing = FileSharing::kOwn;
  bool extends = false;  // of a write: the file grows by it
  // fsync: the file was made since the last one. Reads: this rank has added the data to the file,
  // and not read it since.
  bool is_new = false;
  // The first of its operation since its thread has done something else for a while.
  bool is_paused = false;
  // Such accesses come one after another, since the file is locked, or the storage does one thing
  // at a time. All shared files count as one.
  bool is_by_turns = false;
  double bytes = 0;               // of fsync, close and the like: those written before it
  std::int64_t delta_offset = 0;  // from the end of the access before, of the same descriptor
  double processes = 1;           // that use the target at once, with this one; a mean
  // Names of its path that the system looks up, below the mount point; 0: as many as were measured,
  // or it has no path.
  double look_ups = 0;
  // The call is of a kind that calibrations do not measure: this one stands for it.
  bool stands_for_another = false;

  // One curve of times by bytes, for each number of processes, measures all that has the same of
  // these.
  auto curve() const { return std::tuple(operation, order, sharing, extends, is_new); }
  bool movesData() const {
    return operation == CellOperation::kRead || operation == CellOperation::kWrite;
  }
};

// Seconds of an access, with its `processes`.
using SecondsOf = std::function<double(const Access&)>;

// Accesses that were measured as one cell have the same.
using CellOf = std::tuple<decltype(Access().curve()), double, double>;
inline CellOf cellOf(const Access& access) {
  return {access.curve(), access.processes, access.bytes};
}

struct Sample {
  Access access;
  double seconds = 0;
  int round = 0;              // of the calibration: what was measured at about the same time
  std::int64_t start_ns = 0;  // orders the accesses of a process
  int process = 0;
  int batch = 0;  // a part of its round: accesses of one cell, one after another in each process
};
using Samples = std::vector<Sample>;

// The sample of a calibration, of all cells. `shares_rare`: the time of rare accesses that took far
// longer than the others of their cell (a process lost its processor, a disk had a hiccup) is
// shared out among all cells of the operation, by their time: those with a processor for each
// process, and those with fewer. Where it happened to strike in a cell of few accesses, the mean of
// that would be many times too long; all together it is as much as it was. Few syncs of a cell
// keep their times.
Samples samplesOf(const predict::Calibration& calibration, bool shares_rare);

}  // namespace omnio::access_time
