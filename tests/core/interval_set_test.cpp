#include "core/base/interval_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace omnio::base {
namespace {

TEST(IntervalSet, AgreesWithABitForEachByte) {
  std::mt19937 random(7);
  IntervalSet set;
  std::vector<bool> covered(300, false);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t begin = random() % 300;
    const std::uint64_t end = std::min<std::uint64_t>(begin + random() % 12, 300);
    if (i % 3 == 0) {
      set.add({begin, end});
      for (std::uint64_t at = begin; at < end; ++at) covered[at] = true;
    }
    if (i % 97 == 96) {
      set.cut(begin);
      for (std::uint64_t at = begin; at < 300; ++at) covered[at] = false;
    }
    std::uint64_t wanted = 0;
    for (std::uint64_t at = begin; at < end; ++at) {
      if (!covered[at]) wanted = at + 1;
    }
    ASSERT_EQ(set.lastUncovered({begin, end}), wanted) << i;
  }
}

TEST(IntervalSet, KeepsWithinItsBound) {
  IntervalSet set(8);
  for (std::uint64_t i = 0; i < 1000; ++i) set.add({i * 10, i * 10 + 1});
  EXPECT_EQ(set.end(), 9991U);
  EXPECT_EQ(set.lastUncovered({20000, 20001}), 20001U);
  // Gaps may have been taken for covered; what was covered still is.
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(set.lastUncovered({i * 10, i * 10 + 1}), 0U);
  }
}

}  // namespace
}  // namespace omnio::base
