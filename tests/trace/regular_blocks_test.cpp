#include "trace/wrap/regular_blocks.hpp"

#include <gtest/gtest.h>

namespace omnio::trace {
namespace {

constexpr RegularBlocks kByte8{.bytes = 8, .stride = 0, .count = 1};

void expectBlocks(const RegularBlocks& got, std::int64_t bytes, std::int64_t stride,
                  std::int64_t count) {
  EXPECT_EQ(got.bytes, bytes);
  EXPECT_EQ(got.stride, stride);
  EXPECT_EQ(got.count, count);
}

TEST(RegularBlocks, NeighboursAreOneBlock) { expectBlocks(kByte8.repeated(5, 8), 40, 0, 1); }

TEST(RegularBlocks, WithGapsTheyAreAStride) {
  expectBlocks(kByte8.repeated(5, 24), 8, 24, 5);
  expectBlocks(kByte8.repeated(3, 8).repeated(4, 100), 24, 100, 4);
}

TEST(RegularBlocks, AStrideThatGoesOnIsOneStride) {
  expectBlocks(kByte8.repeated(5, 24).repeated(2, 120), 8, 24, 10);
}

TEST(RegularBlocks, OnceIsTheSame) {
  expectBlocks(kByte8.repeated(1, 1000), 8, 0, 1);
  expectBlocks(kByte8.repeated(5, 24).repeated(1, 7), 8, 24, 5);
}

TEST(RegularBlocks, StridesWithinStridesAndOverlapsAreNotRegular) {
  EXPECT_FALSE(kByte8.repeated(5, 24).repeated(2, 121).isRegular());
  EXPECT_FALSE(kByte8.repeated(2, 7).isRegular());
  EXPECT_FALSE(kByte8.repeated(2, -8).isRegular());
  EXPECT_FALSE(kByte8.repeated(0, 8).isRegular());
  EXPECT_FALSE(RegularBlocks().repeated(2, 8).isRegular());
}

}  // namespace
}  // namespace omnio::trace
