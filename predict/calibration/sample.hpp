// The records of a batch in their cell: all of them in its sums, and some of them as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "predict/calibration/document.hpp"
#include "predict/calibration/shared_area.hpp"

namespace omnio::predict {

struct BatchTimes {
  std::uint32_t round = 0;
  std::int64_t epoch_ns = 0;  // when the calibration began
  std::int64_t clock_ns = 0;  // subtracted
};

// How many accesses of a process in this batch the sample of the cell takes: the share of
// kMostSampled that the batch is of all accesses that are wanted.
std::size_t sampleOf(const Cell& cell, std::uint64_t wanted, std::span<const AccessRecord> records);

// Takes the records of the cell's operation. Of more than `sampled` of them, the sample gets the
// first and the last ones, each half a run.
void addBatch(Cell& cell, std::span<const AccessRecord> records, std::uint32_t process,
              std::size_t sampled, const BatchTimes& times);

}  // namespace omnio::predict
