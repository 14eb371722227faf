// Which operations count as the same to a predictor.
#pragma once

#include <cstdint>

#include "core/event/event.hpp"
#include "predict/operations/operation.hpp"

namespace omnio::predict {

// The context of an operation: where it was called, if the call stack was recorded; its call, in
// whichever form (open64 is open); and the file's slot.
std::uint64_t contextOf(const event::Event& event, Slot slot);

}  // namespace omnio::predict
