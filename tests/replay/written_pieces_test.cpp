#include "replay/plan/written_pieces.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace omnio::replay {
namespace {

constexpr std::size_t kMany = 1 << 18;

// Each byte by itself.
std::map<std::uint64_t, std::uint64_t> apart(const std::vector<bool>& bytes) {
  std::map<std::uint64_t, std::uint64_t> pieces;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (!bytes[i]) continue;
    const std::size_t begin = i;
    while (i < bytes.size() && bytes[i]) ++i;
    pieces.emplace(begin, i);
  }
  return pieces;
}

std::map<std::uint64_t, std::uint64_t> piecesOf(WrittenPieces& written, std::size_t most = kMany) {
  written.settle(most);
  std::map<std::uint64_t, std::uint64_t> pieces;
  std::uint64_t last = 0;
  for (const WrittenPieces::Piece& piece : written.pieces()) {
    EXPECT_TRUE(pieces.empty() || piece.begin > last) << "in order, and apart";
    last = piece.end;
    pieces.emplace(piece.begin, piece.end);
  }
  EXPECT_EQ(written.size(), pieces.size());
  return pieces;
}

TEST(WrittenPieces, AreThoseOfTheBytesInAnyOrder) {
  std::mt19937 dice(7);
  for (int round = 0; round < 200; ++round) {
    constexpr std::size_t kBytes = 4000;
    std::vector<bool> bytes(kBytes + 64);
    WrittenPieces written;
    const int writes = static_cast<int>(dice() % 600);
    for (int i = 0; i < writes; ++i) {
      const std::uint64_t begin = dice() % kBytes;
      const std::uint64_t end = begin + 1 + dice() % (round % 2 == 0 ? 3 : 60);
      for (std::uint64_t byte = begin; byte < end; ++byte) bytes[byte] = true;
      written.add({begin, end}, kMany);
      if (dice() % 100 == 0) written.settle(kMany);
    }
    EXPECT_EQ(piecesOf(written), apart(bytes)) << round;
  }
}

TEST(WrittenPieces, OfBlocksOneAfterTheOtherIsOne) {
  WrittenPieces written;
  for (std::uint64_t at = 0; at < 100'000; ++at) {
    written.add({at * 10, at * 10 + 10}, kMany);
    ASSERT_EQ(written.size(), 1U);
  }
  EXPECT_EQ(piecesOf(written), (std::map<std::uint64_t, std::uint64_t>{{0, 1'000'000}}));
}

TEST(WrittenPieces, BeyondTheMostTheFirstCountAndWhatTouchesThem) {
  constexpr std::size_t kMost = 100;
  WrittenPieces written;
  for (std::uint64_t at = 0; at < kMost; ++at) written.add({at * 10, at * 10 + 1}, kMost);
  written.settle(kMost);
  for (std::uint64_t at = 0; at < 10 * kMost; ++at) {
    written.add({at * 10 + 5, at * 10 + 6}, kMost);  // apart from all
    EXPECT_LE(written.size(), kMost + kMost / 4);
  }
  for (std::uint64_t at = 0; at < kMost; ++at) written.add({at * 10 + 1, at * 10 + 2}, kMost);
  const auto pieces = piecesOf(written, kMost);
  ASSERT_EQ(pieces.size(), kMost);
  for (const auto& [begin, end] : pieces) {
    EXPECT_EQ(begin % 10, 0U);
    EXPECT_EQ(end - begin, 2U);
  }
}

}  // namespace
}  // namespace omnio::replay
