#include "replay/plan/cycles.hpp"

#include <numeric>

namespace omnio::replay {

std::optional<std::uint32_t> findCycle(std::uint32_t nodes, const std::vector<OrderEdge>& edges) {
  // Edges by the node they leave: places in one array, since lists of their own would take several
  // times the memory.
  std::vector<std::uint32_t> first(nodes + std::size_t{1}, 0);
  std::vector<std::uint32_t> waits(nodes, 0);
  for (const OrderEdge& edge : edges) {
    ++first[edge.before + std::size_t{1}];
    ++waits[edge.after];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::uint32_t> leads_to(edges.size());
  std::vector<std::uint32_t> next(first.begin(), first.end());
  for (const OrderEdge& edge : edges) leads_to[next[edge.before]++] = edge.after;

  std::vector<std::uint32_t> ready;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    if (waits[node] == 0) ready.push_back(node);
  }
  std::uint32_t done = 0;
  while (!ready.empty()) {
    const std::uint32_t node = ready.back();
    ready.pop_back();
    ++done;
    for (std::uint32_t i = first[node]; i < first[node + std::size_t{1}]; ++i) {
      if (--waits[leads_to[i]] == 0) ready.push_back(leads_to[i]);
    }
  }
  if (done == nodes) return std::nullopt;

  // What is left is on a cycle or behind one: going back along edges between what is left ends on
  // the cycle after at most as many steps as there are nodes.
  std::vector<std::uint32_t> from(nodes, nodes);
  for (const OrderEdge& edge : edges) {
    if (waits[edge.before] > 0 && waits[edge.after] > 0) from[edge.after] = edge.before;
  }
  std::uint32_t node = 0;
  while (waits[node] == 0) ++node;
  for (std::uint32_t i = 0; i < nodes; ++i) node = from[node];
  return node;
}

}  // namespace omnio::replay
