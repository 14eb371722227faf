#include "predict/calibration/access_plan.hpp"

#include <algorithm>
#include <unordered_set>

#include "core/base/integers.hpp"

namespace omnio::predict {

std::vector<std::int64_t> accessOffsets(const AccessPlanOptions& options) {
  const CellKey& key = options.key;
  const std::uint64_t slots = options.file_bytes / key.bytes;
  const std::uint64_t parts = key.sharing == FileSharing::kShared ? key.processes : 1;
  const std::uint64_t process = parts == 1 ? 0 : options.process;
  const std::uint64_t mine = slots / parts;
  std::vector<std::int64_t> offsets;
  const auto add = [&](std::uint64_t slot) {
    offsets.push_back(static_cast<std::int64_t>(slot * key.bytes));
  };
  const std::uint64_t count = std::clamp<std::uint64_t>(options.accesses, 1, mine);
  // Not from the begin of the file each time: other batches have left that in caches.
  const std::uint64_t first = key.extends ? 0 : base::mixed(options.seed) % mine;
  if (key.order == AccessOrder::kRandom) {
    // Processes draw from all of a shared file. Small accesses shall not share a page.
    constexpr std::uint64_t kPage = 4096;
    const std::uint64_t apart = std::max<std::uint64_t>(1, kPage / key.bytes);
    std::unordered_set<std::uint64_t> pages;
    const std::uint64_t most = std::min(count, std::max<std::uint64_t>(1, slots / apart / 2));
    for (std::uint64_t draw = 0; offsets.size() < most; ++draw) {
      const std::uint64_t slot = base::mixed(options.seed, process, draw) % slots;
      if (pages.insert(slot / apart).second) add(slot);
    }
    return offsets;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t turn = (first + i) % mine;
    add(key.order == AccessOrder::kStrided ? turn * parts + process : process * mine + turn);
  }
  return offsets;
}

}  // namespace omnio::predict
