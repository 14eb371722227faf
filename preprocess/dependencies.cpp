#include "preprocess/dependencies.hpp"

#include <algorithm>
#include <utility>

namespace omnio::preprocess {

void Dependencies::require(EventRef later, std::int64_t start_ns, const PastEvent& earlier) {
  if (earlier.ref.thread == later.thread || earlier.end_ns > start_ns) return;
  std::uint64_t& waited =
      waited_[static_cast<std::uint64_t>(later.thread) << 32 | earlier.ref.thread];
  if (waited > earlier.ref.sequence) return;
  waited = earlier.ref.sequence + 1;
  std::uint64_t& id = ids_[earlier.ref];
  if (id == 0) id = newId();
  requireId(later, id);
}

void Dependencies::requireId(EventRef later, std::uint64_t id) {
  std::vector<std::uint64_t>& ids = before_[later];
  if (std::find(ids.begin(), ids.end(), id) != ids.end()) return;
  ids.push_back(id);
  ++edges_;
}

std::vector<std::uint64_t> Dependencies::takeBefore(EventRef event) {
  auto node = before_.extract(event);
  return node.empty() ? std::vector<std::uint64_t>{} : std::move(node.mapped());
}

std::uint64_t Dependencies::idOf(EventRef event) const {
  const auto found = ids_.find(event);
  return found == ids_.end() ? 0 : found->second;
}

const std::vector<std::uint64_t>& Dependencies::before(EventRef event) const {
  static const std::vector<std::uint64_t> kNone;
  const auto found = before_.find(event);
  return found == before_.end() ? kNone : found->second;
}

}  // namespace omnio::preprocess
