// Which processes are told of an event on another node. Processes, nodes and ranks are numbered
// from 0. Nothing here fails or keeps anything.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "replay/plan/placement.hpp"

namespace omnio::replay {

// Up to this number of waiting processes on other nodes get a message each. Beyond it, one process
// of each node gets one, and the flag in shared memory tells the others of its node: a barrier of
// 4,096 ranks must not send 4,096 messages.
inline constexpr std::size_t kMostTold = 16;

struct Receivers {
  std::vector<int> processes;    // in ascending order, without repetition
  bool for_their_nodes = false;  // other processes of the node rely on each of them
};

// `ranks` wait for an event on the node `home`; `node_of` has the node of each process.
Receivers receiversOf(std::span<const std::uint32_t> ranks, const std::vector<int>& node_of,
                      int home, const Placement& placement);

}  // namespace omnio::replay
