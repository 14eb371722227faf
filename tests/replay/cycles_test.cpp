#include <gtest/gtest.h>

#include "replay/plan/compile.hpp"

namespace omnio::replay {
namespace {

TEST(Cycles, AnOrderThatExistsIsFound) {
  EXPECT_FALSE(findCycle(0, {}));
  EXPECT_FALSE(findCycle(3, {}));
  EXPECT_FALSE(findCycle(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {0, 3}}));
}

TEST(Cycles, TheNodeThatIsNamedLiesOnTheCircle) {
  // 0 leads into the circle 2, 3, 4, which leads to 5.
  const auto node = findCycle(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 2}, {4, 5}});
  ASSERT_TRUE(node);
  EXPECT_GE(*node, 2U);
  EXPECT_LE(*node, 4U);
}

TEST(Cycles, ANodeMayWaitForItself) { EXPECT_EQ(findCycle(2, {{0, 1}, {1, 1}}), 1U); }

TEST(Cycles, ALongChainTakesNoStack) {
  std::vector<OrderEdge> edges;
  constexpr std::uint32_t kNodes = 1000000;
  for (std::uint32_t i = 1; i < kNodes; ++i) edges.push_back({.before = i - 1, .after = i});
  EXPECT_FALSE(findCycle(kNodes, edges));
  edges.push_back({.before = kNodes - 1, .after = 0});
  EXPECT_TRUE(findCycle(kNodes, edges));
}

}  // namespace
}  // namespace omnio::replay
