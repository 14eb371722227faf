#include "replay/run/receivers.hpp"

#include <set>

namespace omnio::replay {

int processOf(std::uint32_t rank, int processes) {
  return static_cast<int>(rank % static_cast<std::uint32_t>(processes));
}

Receivers receiversOf(std::span<const std::uint32_t> ranks, const std::vector<int>& node_of,
                      int home) {
  const auto nodeOf = [&node_of](int process) {
    return node_of[static_cast<std::size_t>(process)];
  };
  std::set<int> waiting;
  for (const std::uint32_t rank : ranks) {
    const int process = processOf(rank, static_cast<int>(node_of.size()));
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
