// Where the accesses of a process go.
#pragma once

#include <cstdint>
#include <vector>

#include "predict/calibration/document.hpp"

namespace omnio::predict {

struct AccessPlanOptions {
  CellKey key;
  std::uint32_t process = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t accesses = 1;
  std::uint64_t seed = 0;  // the same for all processes of a batch
};

// Offsets of at most that many accesses, and at least one: as many as the file has places for, so
// that no access finds what another one of the batch left in a cache. The file has to be large
// enough for one (whyImpossible() in grid.hpp).
std::vector<std::int64_t> accessOffsets(const AccessPlanOptions& options);

}  // namespace omnio::predict
