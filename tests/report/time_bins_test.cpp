#include "report/time_bins.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace omnio::report {
namespace {

std::uint64_t sumOf(const std::vector<std::uint64_t>& row) {
  return std::accumulate(row.begin(), row.end(), std::uint64_t{0});
}

TEST(TimeBins, SpreadsByTime) {
  TimeBins bins(1);
  bins.spread(0, 512, 2048 + 512, 4000);
  EXPECT_EQ(bins.binNs(), 1024);
  EXPECT_EQ(bins.row(0), (std::vector<std::uint64_t>{1000, 2000, 1000}));
}

TEST(TimeBins, AMomentIsInOneBin) {
  TimeBins bins(1);
  bins.spread(0, 3000, 3000, 7);
  EXPECT_EQ(bins.row(0), (std::vector<std::uint64_t>{0, 0, 7}));
}

TEST(TimeBins, ALongerRunHasWiderBins) {
  TimeBins bins(2);
  bins.addTime(0, 0, 1024);
  bins.addTime(1, 2048, 3072);
  bins.addTime(0, 1024 * 512, 1024 * 513);
  EXPECT_EQ(bins.binNs(), 2048);
  EXPECT_EQ(bins.row(0).size(), 257U);
  EXPECT_EQ(bins.row(0).front(), 1024U);
  EXPECT_EQ(bins.row(0).back(), 1024U);
  EXPECT_EQ(bins.row(1), (std::vector<std::uint64_t>{0, 1024}));
}

TEST(TimeBins, KeepsEachUnitWhateverTheTimes) {
  std::mt19937_64 random(7);
  TimeBins all(1);
  TimeBins first(1);
  TimeBins second(1);
  std::uint64_t added = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto start = static_cast<std::int64_t>(random() % (std::uint64_t{1} << (i % 40)));
    const auto end = start + static_cast<std::int64_t>(random() % (std::uint64_t{1} << (i % 35)));
    const std::uint64_t amount = random() % 100'000;
    added += amount;
    all.spread(0, start, end, amount);
    (i % 2 == 0 ? first : second).spread(0, start, end, amount);
  }
  EXPECT_EQ(sumOf(all.row(0)), added);
  first.add(second);
  EXPECT_EQ(first.binNs(), all.binNs());
  EXPECT_EQ(sumOf(first.row(0)), added);
  EXPECT_LE(all.row(0).size(), TimeBins::kMostBins);
}

TEST(TimeBins, TimesThatOnlyDamageMakesStayWithin) {
  TimeBins bins(1);
  bins.spread(0, INT64_MIN, INT64_MAX, 5);
  bins.spread(0, INT64_MAX, INT64_MIN, 5);
  EXPECT_EQ(sumOf(bins.row(0)), 10U);
  EXPECT_LE(bins.row(0).size(), TimeBins::kMostBins);
}

}  // namespace
}  // namespace omnio::report
