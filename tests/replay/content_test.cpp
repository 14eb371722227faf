#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "replay/target/prepare.hpp"

namespace omnio::replay {
namespace {

std::string contentOf(std::uint64_t file, std::uint64_t offset, std::size_t bytes) {
  std::string content(bytes, '\0');
  fillContent(file, offset, content);
  return content;
}

TEST(Content, APieceIsTheSameWhoeverMakesIt) {
  const std::string whole = contentOf(3, 0, 10000);
  for (const std::size_t offset : {1, 7, 8, 4095, 4096, 9990}) {
    EXPECT_EQ(contentOf(3, offset, 10000 - offset), whole.substr(offset)) << offset;
  }
}

TEST(Content, FilesAndBlocksDiffer) {
  std::set<std::string> blocks;
  for (std::uint64_t file = 0; file < 8; ++file) {
    for (std::uint64_t block = 0; block < 64; ++block) {
      blocks.insert(contentOf(file, block * 4096, 4096));
    }
  }
  EXPECT_EQ(blocks.size(), 8U * 64U);
}

TEST(Content, BytesAreSpreadEvenlySoThatNothingCompresses) {
  std::array<int, 256> counts{};
  constexpr std::size_t kBytes = 1 << 20;
  for (const char byte : contentOf(0, 0, kBytes)) ++counts[static_cast<unsigned char>(byte)];
  for (const int count : counts) {
    EXPECT_NEAR(count, kBytes / 256, 6 * 64);  // six standard deviations
  }
}

TEST(Content, StampsMakeEachBlockUnlikeAllOthersAndLeaveText) {
  std::vector<char> buffer(3 * 4096 + 5, 'x');
  std::set<std::string> blocks;
  for (std::uint64_t stamp = 1; stamp <= 100; ++stamp) {
    stampBlocks(stamp, buffer);
    const std::string all(buffer.begin(), buffer.end());
    EXPECT_EQ(all.find('\0'), std::string::npos);
    EXPECT_EQ(all.find('\n'), std::string::npos);
    for (std::size_t at = 0; at < 3 * 4096; at += 4096) blocks.insert(all.substr(at, 4096));
  }
  EXPECT_EQ(blocks.size(), 300U);
}

std::string refusal(std::string_view word) {
  const base::Result<Content> content = Content::parse(word);
  return content ? "" : content.failure().sentence;
}

TEST(ContentWords, AreTakenOrRefusedWithASentence) {
  for (const char* word : {"random", "zero", "ratio=1", "ratio=2.5", "ratio=20,duplicates=0.95"}) {
    const auto content = Content::parse(word);
    ASSERT_TRUE(content) << word;
    EXPECT_EQ(content->word(), word);
  }
  EXPECT_EQ(refusal("zeros"), "zeros is not random, zero, ratio=R or ratio=R,duplicates=SHARE");
  EXPECT_EQ(refusal("ratio=2,"),
            "ratio=2, is not random, zero, ratio=R or ratio=R,duplicates=SHARE");
  EXPECT_EQ(refusal("ratio=0.9"), "ratio=0.9: the ratio is not a number from 1 to 20");
  EXPECT_EQ(refusal("ratio=2,duplicates=0.96"),
            "ratio=2,duplicates=0.96: the share of duplicates is not a number from 0 to 0.95");
}

TEST(ContentOfARatio, IsTheSameWhoeverMakesAPieceAndHasItsShareOfCopies) {
  const auto content = Content::parse("ratio=2.5,duplicates=0.3");
  ASSERT_TRUE(content);
  constexpr std::size_t kBlocks = 1000;
  std::string whole(kBlocks * Content::kBlock, '\0');
  content->fill(3, 0, whole);
  for (const std::size_t offset : {1UL, 511UL, 512UL, 4095UL, 4096UL, 70001UL}) {
    std::string piece(9000, '\0');
    content->fill(3, offset, piece);
    EXPECT_EQ(piece, whole.substr(offset, piece.size())) << offset;
  }
  std::set<std::string> blocks;
  std::size_t copies = 0;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    blocks.insert(whole.substr(block * Content::kBlock, Content::kBlock));
    copies += content->isCopy(block) ? 1 : 0;
  }
  EXPECT_EQ(copies, 300U);
  EXPECT_EQ(blocks.size(), kBlocks - copies + 64);
}

}  // namespace
}  // namespace omnio::replay
