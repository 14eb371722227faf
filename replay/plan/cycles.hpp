// Whether events can be put in an order in which each comes after all that it waits for. Only
// events that wait, or are waited for, matter: between them a thread's own order is one edge.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace omnio::replay {

struct OrderEdge {
  std::uint32_t before = 0;
  std::uint32_t after = 0;
};

// Nodes are 0 ... nodes-1. Returns one node of a cycle, or nothing when there is none (Kahn,
// "Topological sorting of large networks", Communications of the ACM 5 (1962) 558).
std::optional<std::uint32_t> findCycle(std::uint32_t nodes, const std::vector<OrderEdge>& edges);

}  // namespace omnio::replay
