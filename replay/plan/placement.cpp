#include "replay/plan/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "core/base/printable.hpp"

namespace omnio::replay {
namespace {

using Ranks = std::vector<std::uint32_t>;

// `items` in `parts` of nearly the same size, one after the other: the part of an item.
int blockOf(std::size_t item, std::size_t items, std::size_t parts) {
  return static_cast<int>(item * parts / items);
}

// The ranks of each node, by the first rank of a node. A rank without threads is
// on that of the rank before.
std::vector<Ranks> ranksByNode(const Plan& plan) {
  std::vector<std::string> node_of_rank(plan.ranks.size());
  for (const PlannedThread& thread : plan.threads) {
    std::string& node = node_of_rank[static_cast<std::size_t>(thread.recorded.rank)];
    if (node.empty()) node = thread.recorded.host;
  }
  std::map<std::string, std::size_t> numbers;
  std::vector<Ranks> nodes;
  for (std::uint32_t rank = 0; rank < node_of_rank.size(); ++rank) {
    if (node_of_rank[rank].empty() && rank > 0) node_of_rank[rank] = node_of_rank[rank - 1];
    const auto [found, is_new] = numbers.emplace(node_of_rank[rank], nodes.size());
    if (is_new) nodes.emplace_back();
    nodes[found->second].push_back(rank);
  }
  return nodes;
}

// How many processes each node has: in proportion to its ranks, and one at the least. There are
// not fewer processes than nodes, and not more than ranks.
std::vector<std::size_t> processesOf(const std::vector<Ranks>& nodes, std::size_t processes) {
  std::vector<std::size_t> counts(nodes.size(), 1);
  for (std::size_t given = nodes.size(); given < processes; ++given) {
    std::size_t most = 0;  // the node with the most ranks a process
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      if (nodes[i].size() * counts[most] > nodes[most].size() * counts[i]) most = i;
    }
    ++counts[most];
  }
  return counts;
}

std::vector<int> asRecorded(const Plan& plan, std::size_t processes) {
  const std::vector<Ranks> nodes = ranksByNode(plan);
  std::vector<int> process_of_rank(plan.ranks.size());
  if (processes < nodes.size()) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const std::uint32_t rank : nodes[i]) {
        process_of_rank[rank] = blockOf(i, nodes.size(), processes);
      }
    }
    return process_of_rank;
  }
  const std::vector<std::size_t> counts =
      processesOf(nodes, std::min(processes, plan.ranks.size()));
  int first = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t k = 0; k < nodes[i].size(); ++k) {
      process_of_rank[nodes[i][k]] = first + blockOf(k, nodes[i].size(), counts[i]);
    }
    first += static_cast<int>(counts[i]);
  }
  return process_of_rank;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> Placement::ranksByProcess() const {
  std::vector<Ranks> ranks(static_cast<std::size_t>(processes_));
  for (std::uint32_t rank = 0; rank < process_of_rank_.size(); ++rank) {
    ranks[static_cast<std::size_t>(process_of_rank_[rank])].push_back(rank);
  }
  return ranks;
}

Placement placementOf(const Plan& plan, int processes, Place place) {
  const std::size_t ranks = plan.ranks.size();
  const auto count = static_cast<std::size_t>(processes);
  if (place == Place::kRecorded && !plan.global.mpi) return {processes, asRecorded(plan, count)};
  std::vector<int> process_of_rank(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    process_of_rank[rank] = place == Place::kBlock && count < ranks
                                ? blockOf(rank, ranks, count)
                                : static_cast<int>(rank % count);
  }
  return {processes, std::move(process_of_rank)};
}

base::Result<void> checkProcesses(const Plan& plan, int processes) {
  if (!plan.global.mpi || processes == plan.global.ranks) return {};
  return base::failure(
      base::Code::kInvalid,
      "{} has calls of MPI-IO, which ranks make together: it needs a process for each of its "
      "{} ranks, and there are {}",
      base::printable(plan.schedule), plan.global.ranks, processes);
}

std::string rangesText(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text +=
        last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last;
  }
  return text;
}

}  // namespace omnio::replay
