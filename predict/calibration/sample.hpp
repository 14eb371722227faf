// The records of a batch in their cell: all of them in its sums, and some of them as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "predict/calibration/document.hpp"
#include "predict/calibration/grid.hpp"
#include "predict/calibration/shared_area.hpp"

namespace omnio::predict {

struct BatchTimes {
  std::uint32_t round = 0;
  std::int64_t epoch_ns = 0;  // when the calibration began
  std::int64_t clock_ns = 0;  // subtracted
};

// The document of a calibration stays below this, whatever the number of processes: half of what
// its reader takes.
inline constexpr std::size_t kMostDocumentBytes = std::size_t{128} << 20;

// The most that the sample of a cell may have, so that so many cells stay in kMostDocumentBytes.
struct SampleLimits {
  std::size_t accesses = kMostSampled;
  std::size_t runs = 2 * kMostSampled;
};
SampleLimits sampleLimits(std::size_t cells);

// The accesses that are wanted of each process in a cell, and what its sample may have.
struct SamplePlan {
  std::uint64_t wanted = 1;
  SampleLimits limits = {};
};

// How many accesses of a process in this batch the sample of the cell takes: the share of the limit
// that the batch is of all accesses that are wanted. Where the cell is slow, and comes to fewer,
// the share of all batches. Where not all processes can have runs, each round has those of other
// ones, and these take the share of all.
std::size_t sampleOf(const Cell& cell, const SamplePlan& plan, std::uint32_t round,
                     std::uint32_t process, std::span<const AccessRecord> records);

// Takes the records of the cell's operation. Of more than `sampled` of them, the sample gets the
// first and the last ones, each half a run.
void addBatch(Cell& cell, std::span<const AccessRecord> records, std::uint32_t process,
              std::size_t sampled, const BatchTimes& times);

}  // namespace omnio::predict
