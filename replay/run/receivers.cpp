#include "replay/run/receivers.hpp"

#include <set>

namespace omnio::replay {

Receivers receiversOf(std::span<const std::uint32_t> ranks, const std::vector<int>& node_of,
                      int home, const Placement& placement) {
  const auto nodeOf = [&node_of](int process) {
    return node_of[static_cast<std::size_t>(process)];
  };
  std::set<int> waiting;
  for (const std::uint32_t rank : ranks) {
    const int process = placement.processOf(rank);
    if (nodeOf(process) != home) waiting.insert(process);
  }
  if (waiting.size() <= kMostTold) return {.processes = {waiting.begin(), waiting.end()}};
  Receivers receivers{.processes = {}, .for_their_nodes = true};
  std::set<int> nodes;
  for (const int process : waiting) {
    if (nodes.insert(nodeOf(process)).second) receivers.processes.push_back(process);
  }
  return receivers;
}

}  // namespace omnio::replay
