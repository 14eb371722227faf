#include "replay/plan/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace omnio::replay {
namespace {

using Ranks = std::vector<std::string>;

// One thread for each rank, on that host.
Plan planOn(const Ranks& hosts) {
  Plan plan;
  plan.ranks.resize(hosts.size());
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    PlannedThread& thread = plan.threads.emplace_back();
    thread.recorded.rank = static_cast<int>(rank);
    thread.recorded.host = hosts[rank];
  }
  return plan;
}

Ranks placed(const Plan& plan, int processes, Place place) {
  Ranks texts;
  for (const auto& ranks : placementOf(plan, processes, place).ranksByProcess()) {
    texts.push_back(rangesText(ranks));
  }
  return texts;
}

TEST(Placement, InTurnInBlocksAndAsRecorded) {
  const Plan plan = planOn({"a", "b", "a", "b", "a", "b", "a", "b", "a", "b"});
  EXPECT_EQ(placed(plan, 4, Place::kRoundRobin), (Ranks{"0, 4, 8", "1, 5, 9", "2, 6", "3, 7"}));
  EXPECT_EQ(placed(plan, 4, Place::kBlock), (Ranks{"0-2", "3-4", "5-7", "8-9"}));
  EXPECT_EQ(placed(plan, 4, Place::kRecorded), (Ranks{"0, 2, 4", "6, 8", "1, 3, 5", "7, 9"}));
  EXPECT_EQ(placed(plan, 2, Place::kRecorded), (Ranks{"0, 2, 4, 6, 8", "1, 3, 5, 7, 9"}));
}

TEST(Placement, NodesWithMoreRanksHaveMoreProcesses) {
  const Plan plan = planOn({"a", "a", "a", "a", "a", "a", "b", "b", "c"});
  EXPECT_EQ(placed(plan, 5, Place::kRecorded), (Ranks{"0-1", "2-3", "4-5", "6-7", "8"}));
  EXPECT_EQ(placed(plan, 8, Place::kRecorded), (Ranks{"0-1", "2", "3", "4", "5", "6", "7", "8"}));
}

TEST(Placement, FewerProcessesThanNodesHaveWholeNodes) {
  const Plan plan = planOn({"a", "b", "c", "d", "a", "b", "c", "d"});
  EXPECT_EQ(placed(plan, 2, Place::kRecorded), (Ranks{"0-1, 4-5", "2-3, 6-7"}));
  EXPECT_EQ(placed(plan, 1, Place::kRecorded), (Ranks{"0-7"}));
}

TEST(Placement, MoreProcessesThanRanksAreIdle) {
  const Plan plan = planOn({"a", "b", "a"});
  EXPECT_EQ(placed(plan, 5, Place::kRoundRobin), (Ranks{"0", "1", "2", "", ""}));
  EXPECT_EQ(placed(plan, 5, Place::kBlock), (Ranks{"0", "1", "2", "", ""}));
  EXPECT_EQ(placed(plan, 5, Place::kRecorded), (Ranks{"0", "2", "1", "", ""}));
}

TEST(Placement, RanksThatCallMpiIoTogetherKeepTheirNumbers) {
  Plan plan = planOn({"a", "b", "a"});
  plan.global.ranks = 3;
  plan.global.mpi.emplace();
  plan.schedule = "melt.json";
  EXPECT_EQ(placed(plan, 3, Place::kRecorded), (Ranks{"0", "1", "2"}));
  EXPECT_TRUE(checkProcesses(plan, 3));
  const auto fewer = checkProcesses(plan, 2);
  ASSERT_FALSE(fewer);
  EXPECT_EQ(fewer.failure().sentence,
            "melt.json has calls of MPI-IO, which ranks make together: it needs a process for each "
            "of its 3 ranks, and there are 2");
}

TEST(Placement, EachRankHasOneProcessWhateverTheNumbers) {
  for (std::size_t ranks = 1; ranks < 20; ++ranks) {
    Ranks hosts;
    for (std::size_t rank = 0; rank < ranks; ++rank) hosts.emplace_back(1, "abbac"[rank % 5]);
    const Plan plan = planOn(hosts);
    for (int processes = 1; processes < 25; ++processes) {
      for (const auto& [place, word] : kPlaces) {
        const Placement placement = placementOf(plan, processes, place);
        std::size_t busy = 0;
        for (const auto& one : placement.ranksByProcess()) busy += one.empty() ? 0 : 1;
        EXPECT_EQ(busy, std::min(ranks, static_cast<std::size_t>(processes)))
            << word << ' ' << ranks << ' ' << processes;
      }
    }
  }
}

TEST(Placement, RangesAreBrief) {
  EXPECT_EQ(rangesText({}), "");
  EXPECT_EQ(rangesText({7}), "7");
  EXPECT_EQ(rangesText({0, 1, 2, 3, 8}), "0-3, 8");
  EXPECT_EQ(rangesText({0, 2, 3, 5, 6, 7}), "0, 2-3, 5-7");
}

}  // namespace
}  // namespace omnio::replay
