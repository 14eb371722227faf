#include "predict/operations/context.hpp"

#include "core/base/integers.hpp"

namespace omnio::predict {

std::uint64_t contextOf(const event::Event& event, Slot slot) {
  const std::uint64_t stack = event.stack == nullptr ? 0 : event.stack->hash;
  return base::mixed(static_cast<std::uint64_t>(event.row->plain), slot, stack);
}

}  // namespace omnio::predict
