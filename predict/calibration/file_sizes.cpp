#include "predict/calibration/file_sizes.hpp"

#include <algorithm>

#include "core/base/text_table.hpp"

namespace omnio::predict {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

}  // namespace

std::uint64_t bytesNeeded(const FileSizes& sizes, std::uint32_t processes) {
  if (processes == 1) return sizes.shared_bytes + sizes.own_bytes;
  return 2 * (sizes.shared_bytes + sizes.own_bytes * processes);
}

base::Result<FileSizes> chooseSizes(const RoomOptions& options) {
  // Files end at blocks, which O_DIRECT wants.
  constexpr std::uint64_t kBlock = 4096;
  const std::uint64_t largest = (options.largest_bytes + kBlock - 1) / kBlock * kBlock;
  const std::uint64_t processes = options.processes;
  const FileSizes least{.shared_bytes = std::max<std::uint64_t>(2, processes) * largest,
                        .own_bytes = 2 * largest};
  const bool is_cached = options.cache == CacheState::kCached;
  const std::uint64_t need = bytesNeeded(least, options.processes);
  const auto text = [](std::uint64_t bytes) {
    return base::humanBytes(static_cast<double>(bytes));
  };
  if (options.free_bytes && need > *options.free_bytes) {
    return base::failure(base::Code::kSystem,
                         "{}: too little room: {} are needed, and {} are free; a smaller --largest "
                         "or fewer --processes need less",
                         options.target, text(need), text(*options.free_bytes));
  }
  if (is_cached && need > options.memory_bytes / 2) {
    return base::failure(base::Code::kSystem,
                         "{}: too little memory to keep {} in the page cache: the node has {}; a "
                         "smaller --largest or fewer --processes need less",
                         options.target, text(need), text(options.memory_bytes));
  }
  std::uint64_t room = options.free_bytes ? *options.free_bytes / 2 : UINT64_MAX;
  if (is_cached) room = std::min(room, options.memory_bytes / 4);
  // Small accesses find enough of places in small files.
  FileSizes sizes{
      .shared_bytes =
          std::min((is_cached ? 1024 : 4096) * kMiB, std::max(64 * kMiB, 256 * largest)),
      .own_bytes = std::min((is_cached ? 64 : 256) * kMiB, std::max(16 * kMiB, 16 * largest))};
  const auto half = [largest](std::uint64_t bytes, std::uint64_t at_least) {
    return std::max(at_least, bytes / 2 / largest * largest);
  };
  sizes.shared_bytes = std::max(sizes.shared_bytes, least.shared_bytes);
  sizes.own_bytes = std::max(sizes.own_bytes, least.own_bytes);
  while (bytesNeeded(sizes, options.processes) > room) {
    const FileSizes before = sizes;
    if (sizes.shared_bytes >= sizes.own_bytes * processes) {
      sizes.shared_bytes = half(sizes.shared_bytes, least.shared_bytes);
    } else {
      sizes.own_bytes = half(sizes.own_bytes, least.own_bytes);
    }
    if (sizes.shared_bytes == before.shared_bytes && sizes.own_bytes == before.own_bytes) {
      // The larger one is as small as it may be.
      sizes = {.shared_bytes = half(sizes.shared_bytes, least.shared_bytes),
               .own_bytes = half(sizes.own_bytes, least.own_bytes)};
      if (sizes.shared_bytes == before.shared_bytes && sizes.own_bytes == before.own_bytes) break;
    }
  }
  return sizes;
}

}  // namespace omnio::predict
