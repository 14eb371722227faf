#include "predict/operations/findings.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace omnio::predict {
namespace {

using pattern::access::AccessPatterns;
using pattern::access::PatternKind;

// The findings in accesses at these offsets.
Findings foundIn(const std::vector<std::int64_t>& offsets, std::uint64_t bytes = 1) {
  AccessPatterns patterns;
  for (const std::int64_t offset : offsets) patterns.add(offset, bytes);
  Findings findings;
  findings.take(patterns);
  return findings;
}

std::string linesOf(const Findings& findings) {
  std::string lines;
  for (const auto& [key, of] : findings.patterns()) {
    lines += std::string(nameOf(key.first)) + ": " + key.second + "; " + std::to_string(of.times) +
             " from " + std::to_string(of.first) + " to " + std::to_string(of.last) + ", " +
             std::to_string(of.accesses) + " of " + std::to_string(of.bytes) + "\n";
  }
  return lines;
}

// The patterns of the paper.
TEST(Findings, HaveTheParametersOfTangsPatterns) {
  EXPECT_EQ(linesOf(foundIn({0, 4, 8, 12, 16, 20, 24, 28}, 4)),
            "contiguous: 8 x 4 B; 1 from 0 to 0, 8 of 32\n");
  EXPECT_EQ(linesOf(foundIn({1, 3, 5})), "strided: 3 x 1 B, every 2 B; 1 from 1 to 1, 3 of 3\n");
  EXPECT_EQ(linesOf(foundIn({1, 3, 5, 11, 13, 15, 21, 23, 25, 31, 33, 35})),
            "nested: 4 x 3 x 1 B, every 10 B, every 2 B; 1 from 1 to 1, 12 of 12\n");
  std::vector<std::int64_t> steps;
  for (std::int64_t day = 0; day < 30; ++day) {
    for (const std::int64_t step : {5, 6, 14, 15}) steps.push_back(24 * day + step);
  }
  EXPECT_EQ(linesOf(foundIn(steps)),
            "composition: 30 x {1, 8, 1, 14} B, of 1 B; 1 from 5 to 5, 120 of 120\n");
  const Findings unstructured = foundIn({10, 20, 30, 40, 50, 10, 70, 20, 30, 80, 10, 40, 20, 30});
  EXPECT_TRUE(unstructured.patterns().contains({PatternKind::kCorrelation, "{10 | 20, 30}"}));
  EXPECT_TRUE(unstructured.patterns().contains({PatternKind::kCorrelation, "{20 | 30}"}));
}

TEST(Findings, OnePatternOfSeveralFilesOrRanksIsOneLine) {
  Findings all = foundIn({1000, 1002, 1004});
  all.add(foundIn({0, 2, 4}));
  all.add(foundIn({500, 502, 504}));
  EXPECT_EQ(linesOf(all), "strided: 3 x 1 B, every 2 B; 3 from 0 to 1000, 9 of 9\n");
}

TEST(Findings, PatternsBeyondTheBoundAreOneOfTheirKind) {
  Findings all;
  for (std::int64_t stride = 2; stride < 202; ++stride) all.add(foundIn({0, stride, 2 * stride}));
  EXPECT_EQ(all.patterns().size(), Findings::kMostPatterns + 1);
  EXPECT_EQ(all.patterns().at({PatternKind::kStrided, ""}).accesses,
            3 * (200 - Findings::kMostPatterns));
}

TEST(Findings, SizesOfAContextAreThoseOfAllRanks) {
  std::array<Findings, 2> ranks;
  for (const std::int64_t bytes : {8, 100, 8}) ranks[0].take(1, bytes);
  for (const std::int64_t bytes : {100, 4}) ranks[1].take(1, bytes);
  for (std::int64_t bytes = 0; bytes < 30; ++bytes) ranks[1].take(2, bytes);
  ranks[0].add(ranks[1]);
  ASSERT_EQ(ranks[0].sizes().size(), 2U);
  const Findings::Sizes& sizes = ranks[0].sizes().at(1);
  EXPECT_EQ(sizes.bytes.count(), 5U);
  EXPECT_EQ(sizes.bytes.least(), 4);
  EXPECT_EQ(sizes.bytes.most(), 100);
  EXPECT_DOUBLE_EQ(sizes.bytes.average(), 44);
  EXPECT_DOUBLE_EQ(sizes.bytes.deviation(), std::sqrt((2 * 36 * 36 + 2 * 56 * 56 + 40 * 40) / 5.0));
  EXPECT_EQ(sizes.different, (std::vector<std::int64_t>{4, 8, 100}));
  EXPECT_EQ(ranks[0].sizes().at(2).different.size(), Findings::Sizes::kMostDifferent + 1);
}

}  // namespace
}  // namespace omnio::predict
