#include "report/offset_plane.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>

namespace omnio::report {
namespace {

constexpr User kUser = kFirstUser;

std::pair<std::uint64_t, std::uint64_t> sumsOf(const OffsetPlane& plane) {
  std::pair<std::uint64_t, std::uint64_t> sums;
  for (std::size_t row = 0; row < OffsetPlane::kMostRows; ++row) {
    for (std::size_t bin = 0; bin < plane.bins(); ++bin) {
      sums.first += plane.at(row, bin).read_bytes;
      sums.second += plane.at(row, bin).written_bytes;
    }
  }
  return sums;
}

TEST(OffsetPlane, ACallIsWhereItsBytesAre) {
  OffsetPlane plane;
  plane.add({.start_ns = 3000, .end_ns = 3000, .offset = 1024, .span_bytes = 512, .bytes = 512});
  EXPECT_EQ(plane.rows(), 3U);
  EXPECT_EQ(plane.bins(), 3U);
  EXPECT_EQ(plane.at(2, 2), (OffsetPlane::Cell{.read_bytes = 512, .user = kUser}));
  EXPECT_EQ(plane.at(1, 2), OffsetPlane::Cell{});
}

TEST(OffsetPlane, SpreadsOverTimeAndOffsets) {
  OffsetPlane plane;
  plane.add({.start_ns = 512,
             .end_ns = 1536,
             .offset = 256,
             .span_bytes = 1024,
             .bytes = 4000,
             .writes = true});
  for (const std::size_t bin : {0U, 1U}) {
    EXPECT_EQ(plane.at(0, bin).written_bytes, 500U);
    EXPECT_EQ(plane.at(1, bin).written_bytes, 1000U);
    EXPECT_EQ(plane.at(2, bin).written_bytes, 500U);
  }
}

TEST(OffsetPlane, TheEndOfARowIsNotInTheNextOne) {
  OffsetPlane plane;
  plane.add({.offset = 0, .span_bytes = 1024, .bytes = 1023});
  EXPECT_EQ(plane.rows(), 2U);
  EXPECT_EQ(sumsOf(plane).first, 1023U);
}

TEST(OffsetPlane, ALargerFileHasHigherRows) {
  OffsetPlane plane;
  plane.add({.offset = 0, .span_bytes = 512, .bytes = 512, .user = kUser});
  plane.add({.offset = 512, .span_bytes = 512, .bytes = 512, .user = kUser + 1});
  plane.add({.offset = 512 * OffsetPlane::kMostRows, .span_bytes = 1, .bytes = 1, .user = kUser});
  EXPECT_EQ(plane.rowBytes(), 1024U);
  EXPECT_EQ(plane.at(0, 0), (OffsetPlane::Cell{.read_bytes = 1024, .user = kSeveralUsers}));
  EXPECT_EQ(plane.at(OffsetPlane::kMostRows / 2, 0).read_bytes, 1U);
}

TEST(OffsetPlane, ALongerRunHasWiderBins) {
  OffsetPlane plane;
  plane.add({.start_ns = 1024, .end_ns = 1024, .span_bytes = 1, .bytes = 7});
  plane.add({.start_ns = 512 * 1024, .end_ns = 512 * 1024, .span_bytes = 1, .bytes = 5});
  EXPECT_EQ(plane.binNs(), 2048);
  EXPECT_EQ(plane.at(0, 0).read_bytes, 7U);
  EXPECT_EQ(plane.at(0, 256).read_bytes, 5U);
}

TEST(OffsetPlane, OffsetsAndTimesThatAreDamagedStayWithin) {
  OffsetPlane plane;
  plane.add({.start_ns = INT64_MAX,
             .end_ns = INT64_MIN,
             .offset = UINT64_MAX,
             .span_bytes = UINT64_MAX,
             .bytes = 9});
  plane.add(
      {.start_ns = -5, .end_ns = INT64_MAX, .span_bytes = UINT64_MAX, .bytes = UINT64_MAX / 2});
  EXPECT_LE(plane.bins(), OffsetPlane::kMostBins);
  EXPECT_LE(plane.rows(), OffsetPlane::kMostRows);
  EXPECT_EQ(sumsOf(plane).first, UINT64_MAX / 2 + 9);
}

TEST(OffsetPlane, KeepsEachByteWhateverIsAdded) {
  std::mt19937_64 random(7);
  OffsetPlane plane;
  std::pair<std::uint64_t, std::uint64_t> wanted;
  for (int i = 0; i < 3000; ++i) {
    const auto start_ns = static_cast<std::int64_t>(random() >> (24 + random() % 40));
    const PlacedBytes placed{.start_ns = start_ns,
                             .end_ns = start_ns + static_cast<std::int64_t>(random() % 5000),
                             .offset = random() >> (20 + random() % 44),
                             .span_bytes = random() >> (30 + random() % 34),
                             .bytes = random() >> (34 + random() % 30),
                             .writes = random() % 2 == 0};
    plane.add(placed);
    (placed.writes ? wanted.second : wanted.first) += placed.bytes;
  }
  EXPECT_EQ(sumsOf(plane), wanted);
  OffsetPlane coarse = plane;
  coarse.halveRows();
  coarse.halveBins();
  EXPECT_EQ(sumsOf(coarse), wanted);
  EXPECT_EQ(sumsOf(plane), wanted) << "a copy is its own";
}

TEST(OffsetPlane, PacksRunsOfCells) {
  OffsetPlane plane;
  plane.add({.start_ns = 2048, .end_ns = 2048, .span_bytes = 1, .bytes = 300, .user = 5});
  plane.add({.start_ns = 3072, .end_ns = 3072, .span_bytes = 1, .bytes = 100, .user = 4});
  plane.add({.start_ns = 0, .end_ns = 0, .offset = 512, .span_bytes = 1, .bytes = 1, .user = 4});
  EXPECT_EQ(unitOf(plane), 1U);
  // Two empty cells and two used ones; then one is used, the first of the second row.
  EXPECT_EQ(cellsOf(plane, false, 100), std::string("\x02\x03\x03\x0A\x01\x01\x01\x00", 8));
  EXPECT_EQ(cellsOf(plane, true, 100), "");
}

TEST(OffsetPlane, UnitsGrowWithTheFullestCell) {
  OffsetPlane plane;
  plane.add({.span_bytes = 1, .bytes = std::uint64_t{1} << 20});
  EXPECT_EQ(unitOf(plane), 128U);
}

}  // namespace
}  // namespace omnio::report
