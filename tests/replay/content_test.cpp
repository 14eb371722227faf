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

}  // namespace
}  // namespace omnio::replay
