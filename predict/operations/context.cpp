#include "predict/operations/context.hpp"

#include "core/base/integers.hpp"

namespace omnio::predict {
namespace {

// A number of the call stack that is the same wherever the program was loaded; 0 without one.
template <typename Event>
std::uint64_t stackOf(const Event& event) {
  if constexpr (requires { event.stack->hash; }) {
    return event.stack == nullptr ? 0 : event.stack->hash;
  } else {
    return 0;
  }
}

}  // namespace

std::uint64_t contextOf(const event::Event& event, Slot slot) {
  return base::mixed(static_cast<std::uint64_t>(event.row->plain), slot, stackOf(event));
}

}  // namespace omnio::predict
