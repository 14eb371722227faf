#include "replay/run/pieces.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace omnio::replay {
namespace {

using Pieces = std::vector<std::pair<std::uint64_t, int>>;

Pieces piecesOf(std::uint64_t all, std::uint64_t limit = kLargestPiece) {
  Pieces pieces;
  forEachPiece(all, limit,
               [&](std::uint64_t first, int count) { pieces.emplace_back(first, count); });
  return pieces;
}

TEST(Pieces, NothingHasNone) { EXPECT_EQ(piecesOf(0), Pieces{}); }

TEST(Pieces, WhatFitsIsOne) {
  EXPECT_EQ(piecesOf(1), (Pieces{{0, 1}}));
  EXPECT_EQ(piecesOf(kLargestPiece), (Pieces{{0, 1 << 30}}));
}

TEST(Pieces, LengthsThatAnIntDoesNotHold) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  EXPECT_EQ(piecesOf(2 * kGiB), (Pieces{{0, 1 << 30}, {kGiB, 1 << 30}}));
  EXPECT_EQ(
      piecesOf(4 * kGiB + 7),
      (Pieces{
          {0, 1 << 30}, {kGiB, 1 << 30}, {2 * kGiB, 1 << 30}, {3 * kGiB, 1 << 30}, {4 * kGiB, 7}}));
}

TEST(Pieces, SmallLimit) { EXPECT_EQ(piecesOf(7, 3), (Pieces{{0, 3}, {3, 3}, {6, 1}})); }

TEST(Pieces, TheLimitOfTestsIsAtMostTheUsualOne) {
  EXPECT_EQ(largestPiece(), kLargestPiece);
  setenv("OMNIO_REPLAY_LARGEST_PIECE", "1000", 1);
  EXPECT_EQ(largestPiece(), 1000U);
  for (const char* const other : {"0", "-1", "x", "99999999999"}) {
    setenv("OMNIO_REPLAY_LARGEST_PIECE", other, 1);
    EXPECT_EQ(largestPiece(), kLargestPiece) << other;
  }
  unsetenv("OMNIO_REPLAY_LARGEST_PIECE");
}

}  // namespace
}  // namespace omnio::replay
