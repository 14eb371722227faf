#include "trace/runtime/ring/place_count.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "tests/trace/together.hpp"

namespace omnio::trace {
namespace {

constexpr std::uint32_t kPlaces = 4000;

TEST(PlaceCount, GivesEachPlaceOnceAndNoMore) {
  PlaceCount<kPlaces> places;
  std::array<std::atomic<int>, kPlaces> takers{};
  std::atomic<std::uint32_t> refused{0};
  std::atomic<bool> is_above{false};
  test::together([&](int) {
    for (std::uint32_t i = 0; i < kPlaces; ++i) {
      if (const auto place = places.take()) {
        ++takers.at(*place);
      } else {
        ++refused;
      }
      if (places.taken() > kPlaces) is_above = true;
    }
  });
  EXPECT_FALSE(is_above.load());
  EXPECT_EQ(places.taken(), kPlaces);
  EXPECT_EQ(refused.load(), (test::kThreads - 1) * kPlaces);
  EXPECT_TRUE(std::all_of(takers.begin(), takers.end(), [](const auto& one) { return one == 1; }));
  places.forget();
  EXPECT_EQ(places.take(), 0U);
}

}  // namespace
}  // namespace omnio::trace
