#include "phase_model/byte_places.hpp"

#include <gtest/gtest.h>

namespace omnio::phases {
namespace {

BytePlaces oneByOne(std::uint64_t first, std::uint64_t bytes, std::uint64_t stride,
                    std::uint64_t count) {
  BytePlaces places;
  for (std::uint64_t k = 0; k < count; ++k) {
    for (std::uint64_t i = 0; i < bytes; ++i) {
      const std::uint64_t at = first + k * stride + i;
      places.sum += at;
      places.squares += at * at;
    }
  }
  return places;
}

TEST(BytePlaces, AreThoseOfEachByte) {
  for (const std::uint64_t first : {0ULL, 7ULL, 1ULL << 61}) {
    for (const std::uint64_t bytes : {1ULL, 2ULL, 3ULL, 24ULL, 100ULL}) {
      for (const std::uint64_t count : {1ULL, 2ULL, 5ULL, 12ULL}) {
        BytePlaces places;
        places.add(first, bytes, 1000, count);
        EXPECT_EQ(places, oneByOne(first, bytes, 1000, count));
      }
    }
  }
}

TEST(BytePlaces, BlocksInAnyOrderFillARegion) {
  BytePlaces blocks;
  blocks.add(400, 100);
  blocks.add(0, 100, 200, 2);
  blocks.add(100, 100, 200, 2);
  BytePlaces region;
  region.add(0, 500);
  EXPECT_EQ(blocks, region);
}

// As many bytes between the same ends, with an overlap and a gap.
TEST(BytePlaces, AnOverlapWithAGapIsNoRegion) {
  BytePlaces blocks;
  for (const std::uint64_t first : {0, 200, 0, 200, 400, 600, 400, 700}) blocks.add(first, 100);
  BytePlaces region;
  region.add(0, 800);
  EXPECT_NE(blocks, region);
}

}  // namespace
}  // namespace omnio::phases
