// How large the files of a calibration are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.hpp"
#include "predict/calibration/document.hpp"

namespace omnio::predict {

struct FileSizes {
  std::uint64_t shared_bytes = 0;  // of the file that all use, and one process alone
  std::uint64_t own_bytes = 0;     // of the file of each
};

struct RoomOptions {
  std::string target;  // for the sentence; text
  CacheState cache = CacheState::kCached;
  std::uint32_t processes = 1;
  std::uint64_t largest_bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::optional<std::uint64_t> free_bytes;
};

// What files of these sizes take at most, with those that writes extend.
std::uint64_t bytesNeeded(const FileSizes& sizes, std::uint32_t processes);
// As large as half of the free room, and for kCached a quarter of the memory, allow, up to a few
// GiB. Fails where there is not room for a few accesses of the largest size.
base::Result<FileSizes> chooseSizes(const RoomOptions& options);

}  // namespace omnio::predict
