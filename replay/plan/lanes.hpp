// Threads of a process by lanes: of those in one lane, each began in the recording when the one
// before had ended. So they need a processor, and memory for their requests, one at a time: a rank
// that starts three threads in each of a thousand steps has three lanes for them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "replay/plan/plan.hpp"

namespace omnio::replay {

struct Lanes {
  std::vector<std::size_t> of_thread;
  std::vector<LargestRequests> largest;  // by lane: of all its threads
};

// As few lanes as there can be. Threads without calls take none from others.
Lanes lanesOf(std::span<const PlannedThread* const> threads);

}  // namespace omnio::replay
