#include "replay/run/receivers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace omnio::replay {
namespace {

// `nodes` nodes with `each` processes, one after the other.
std::vector<int> nodesOf(int nodes, int each) {
  std::vector<int> node_of;
  for (int i = 0; i < nodes * each; ++i) node_of.push_back(i / each);
  return node_of;
}

// Of ranks that processes take in turn.
Receivers receivers(const std::vector<std::uint32_t>& ranks, const std::vector<int>& node_of,
                    int home) {
  std::vector<int> process_of_rank(*std::ranges::max_element(ranks) + std::size_t{1});
  for (std::size_t rank = 0; rank < process_of_rank.size(); ++rank) {
    process_of_rank[rank] = static_cast<int>(rank % node_of.size());
  }
  return receiversOf(ranks, node_of, home, {static_cast<int>(node_of.size()), process_of_rank});
}

std::vector<std::uint32_t> allRanks(std::uint32_t count) {
  std::vector<std::uint32_t> ranks(count);
  std::iota(ranks.begin(), ranks.end(), 0U);
  return ranks;
}

TEST(Receivers, AreTheWaitingProcessesOfOtherNodes) {
  const std::vector<std::uint32_t> ranks = {0, 3, 2, 3};
  const Receivers found = receivers(ranks, nodesOf(2, 2), 0);
  EXPECT_EQ(found.processes, (std::vector{2, 3}));
  EXPECT_FALSE(found.for_their_nodes);
  EXPECT_TRUE(receivers({0, 1}, nodesOf(2, 2), 0).processes.empty());
}

TEST(Receivers, TakeRanksInTurnWhereProcessesAreFewer) {
  const std::vector<std::uint32_t> ranks = {5, 9};  // processes 1 and 1 of 4
  EXPECT_EQ(receivers(ranks, nodesOf(2, 2), 1).processes, std::vector{1});
}

TEST(Receivers, AreOneOfEachNodeWhereManyWait) {
  constexpr int kEach = 8;
  const Receivers few = receivers(allRanks(24), nodesOf(3, kEach), 1);
  EXPECT_EQ(few.processes.size(), kMostTold);
  EXPECT_FALSE(few.for_their_nodes);
  const Receivers many = receivers(allRanks(32), nodesOf(4, kEach), 1);
  EXPECT_EQ(many.processes, (std::vector{0, 16, 24}));
  EXPECT_TRUE(many.for_their_nodes);
  EXPECT_EQ(receivers(allRanks(4096), nodesOf(64, 64), 0).processes.size(), 63U);
}

// The first process of a node may not be the one that waits.
TEST(Receivers, AreProcessesThatWait) {
  std::vector<std::uint32_t> ranks = allRanks(32);
  std::erase(ranks, 16U);
  EXPECT_EQ(receivers(ranks, nodesOf(4, 8), 1).processes, (std::vector{0, 17, 24}));
}

}  // namespace
}  // namespace omnio::replay
