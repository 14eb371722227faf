// The order from files follows the clocks of the hosts, the order from communication does not.
// Where a clock is wrong by more than two calls are apart, both together may be a circle of steps
// that wait for each other, which a replay refuses.
#pragma once
#include <cstdint>

#include "preprocess/analysis.hpp"
#include "preprocess/order/communication.hpp"

namespace omnio::preprocess {

// Takes away waits that files made, until no circle has one, and leaves those that come from
// communication. Returns how many it took away. Time and memory are linear in the waits, and a
// circle costs time linear in the threads.
std::uint64_t breakCircles(Analysis& analysis, const CommunicationOrder& order);

}  // namespace omnio::preprocess
