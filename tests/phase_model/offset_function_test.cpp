#include <gtest/gtest.h>

#include "phase_model/grouping.hpp"
#include "tests/phase_model/accesses.hpp"

namespace omnio::phases {
namespace {

using test::kMib;

TEST(OffsetFunction, OffsetsOnALineAreAffine) {
  const model::OffsetFunction f = fitOffsets({{1, 50}, {3, 90}, {4, 110}});
  EXPECT_TRUE(f.table.empty());
  EXPECT_EQ(f.base, 30);
  EXPECT_EQ(f.per_rank, 20);
}

TEST(OffsetFunction, OneRankHasAConstant) {
  const model::OffsetFunction f = fitOffsets({{7, 4096}});
  EXPECT_TRUE(f.table.empty());
  EXPECT_EQ(f.base, 4096);
  EXPECT_EQ(f.per_rank, 0);
}

TEST(OffsetFunction, OthersAreATable) {
  const model::OffsetFunction f = fitOffsets({{0, 0}, {1, 10}, {3, 20}});
  EXPECT_FALSE(f.table.empty());
  EXPECT_EQ(f.at(1), 10);
  EXPECT_EQ(f.at(3), 20);
  EXPECT_EQ(f.at(2), 0);
}

TEST(OffsetFunction, ALineThatLeadsBeyondAllNumbersIsATable) {
  constexpr std::int64_t kFar = std::int64_t{1} << 61;
  EXPECT_FALSE(fitOffsets({{1000000, 0}, {1000001, kFar}}).table.empty());
  EXPECT_FALSE(fitOffsets({{1000, kFar}, {1001, 0}}).table.empty());
}

TEST(OffsetFunction, ASlopeThatIsNoWholeNumberIsATable) {
  EXPECT_FALSE(fitOffsets({{0, 0}, {2, 5}}).table.empty());
}

TEST(OffsetFunction, IsWrittenInRequests) {
  EXPECT_EQ(textOf({}, 4096), "0");
  EXPECT_EQ(textOf({{.base = 0, .per_rank = kMib, .grid = {}}, true, {}}, kMib), "idP * 1 MiB");
  EXPECT_EQ(textOf({{.base = 2 * kMib, .per_rank = 8 * kMib, .grid = {}}, true, {}}, kMib),
            "idP * 8 * 1 MiB + 2 * 1 MiB");
  EXPECT_EQ(textOf({{.base = -kMib, .per_rank = 8 * kMib, .grid = {}}, true, {}}, kMib),
            "idP * 8 * 1 MiB - 1 MiB");
  EXPECT_EQ(textOf({{.base = 100, .per_rank = 0, .grid = {}}, true, {}}, kMib), "100 B");
  EXPECT_EQ(textOf({{}, false, {}}, kMib), "not known");
  EXPECT_EQ(textOf({{}, true, {{2, 100}, {3, 50}}}, kMib), "a table: rank 2 at 100 B, ...");
}

TEST(ExactSize, IsExact) {
  EXPECT_EQ(exactSize(0), "0 B");
  EXPECT_EQ(exactSize(1023), "1023 B");
  EXPECT_EQ(exactSize(32ULL << 20), "32 MiB");
  EXPECT_EQ(exactSize((32ULL << 20) + 1), "33554433 B");
  EXPECT_EQ(exactSize(1536), "1536 B");
  EXPECT_EQ(exactSize(3ULL << 50), "3072 TiB");
}

}  // namespace
}  // namespace omnio::phases
