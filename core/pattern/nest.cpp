#include "core/pattern/nest.hpp"

#include <algorithm>

namespace omnio::pattern {

bool Field::varies() const {
  return list_loop != kNoList ||
         std::ranges::any_of(steps, [](std::int64_t step) { return step != 0; });
}

std::uint64_t itemsOf(const Nest& nest) {
  if (!nest.isLoop()) return 1;
  std::uint64_t items = 0;
  for (const Nest& part : nest.body) items += itemsOf(part);
  return items * nest.count;
}

std::int64_t valueOf(const Field& field, std::span<const Nest* const> loops,
                     std::span<const std::uint64_t> turns) {
  auto value = static_cast<std::uint64_t>(field.base);
  for (std::size_t i = 0; i < field.steps.size(); ++i) {
    value += static_cast<std::uint64_t>(field.steps[i]) * turns[i];
  }
  if (field.list_loop != Field::kNoList) {
    const std::vector<std::int64_t>& list = loops[field.list_loop]->lists[field.list];
    value += static_cast<std::uint64_t>(list[turns[field.list_loop]]);
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace omnio::pattern
