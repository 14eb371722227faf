// Lines between the bounds of two clocks: found again, within the error that is stated, with bounds
// of one kind, with bounds that cross, and in bounded memory.
#include "core/order/offset_bounds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "tests/core/trace_builder.hpp"

namespace omnio {
namespace {

using test::kSecond;

// Clocks of which the second is ahead by a known offset at each time of the first.
class Messages {
 public:
  explicit Messages(double drift_ppm) : drift_ppm_(drift_ppm) {}

  std::int64_t offsetAt(std::int64_t ns) const {
    const std::int64_t step = ns >= step_at_ns ? step_ns : 0;
    return 3 * kSecond + step + std::llround(static_cast<double>(ns) * drift_ppm_ / 1e6);
  }
  // A message to or fro every 10 ms, on its way for 5 us and more.
  void exchange(order::OffsetBounds& bounds, std::int64_t from_ns, std::int64_t to_ns,
                std::int64_t every_ns = 10'000'000) {
    std::exponential_distribution<double> delay(1.0 / 20'000);
    for (std::int64_t ns = from_ns; ns < to_ns; ns += every_ns) {
      const std::int64_t way = 5'000 + static_cast<std::int64_t>(delay(random_));
      if (random_() % 2 == 0) {
        // Sent at `ns` by the first clock, received by the second.
        bounds.addMost(ns, offsetAt(ns) + way);
      } else {
        bounds.addLeast(ns + way, offsetAt(ns) - way);
      }
    }
  }

  std::int64_t step_at_ns = INT64_MAX;
  std::int64_t step_ns = 0;

 private:
  double drift_ppm_;
  std::mt19937 random_{4711};
};

// Between two points of a fit.
std::int64_t at(const order::OffsetBounds::Fit& fit, std::int64_t ns) {
  for (std::size_t i = 1; i < fit.points.size(); ++i) {
    const auto& from = fit.points[i - 1];
    const auto& to = fit.points[i];
    if (ns > to.at_ns && i + 1 < fit.points.size()) continue;
    const double share =
        static_cast<double>(ns - from.at_ns) / static_cast<double>(to.at_ns - from.at_ns);
    return from.offset_ns +
           std::llround(share * static_cast<double>(to.offset_ns - from.offset_ns));
  }
  return 0;
}

TEST(OffsetBounds, FindOffsetAndDriftWithinTheStatedError) {
  for (const double drift_ppm : {0.0, 50.0, -480.0}) {
    Messages messages(drift_ppm);
    order::OffsetBounds bounds(0, 20 * kSecond, 64);
    messages.exchange(bounds, kSecond, 19 * kSecond);
    const auto fit = bounds.fit();
    ASSERT_TRUE(fit);
    EXPECT_EQ(fit->pieces, 1U);
    EXPECT_LE(fit->errorNs(), 30'000);
    for (const auto& point : fit->points) {
      EXPECT_LE(std::abs(point.offset_ns - messages.offsetAt(point.at_ns)), point.error_ns)
          << drift_ppm;
    }
    EXPECT_EQ(fit->points.front().at_ns, 0);
    EXPECT_EQ(fit->points.back().at_ns, 20 * kSecond);
  }
}

TEST(OffsetBounds, NoBoundIsBroken) {
  Messages messages(50);
  order::OffsetBounds bounds(0, 20 * kSecond, 64);
  messages.exchange(bounds, 0, 20 * kSecond);
  const auto fit = bounds.fit();
  ASSERT_TRUE(fit);
  for (const auto& bound : bounds.bounds()) {
    if (bound.is_most) {
      EXPECT_LE(at(*fit, bound.at_ns), bound.offset_ns);
    } else {
      EXPECT_GE(at(*fit, bound.at_ns), bound.offset_ns);
    }
  }
}

TEST(OffsetBounds, OfOneKindSayNothing) {
  order::OffsetBounds bounds(0, kSecond, 64);
  EXPECT_FALSE(bounds.fit());
  bounds.addMost(0, 7);
  bounds.addMost(kSecond, 8);
  EXPECT_FALSE(bounds.fit());
  bounds.addLeast(kSecond / 2, 1);
  EXPECT_TRUE(bounds.fit());
}

TEST(OffsetBounds, OneOfEachTellsTheOffset) {
  order::OffsetBounds bounds(0, 1'000'000, 64);
  bounds.addMost(500'000, 30'000);
  bounds.addLeast(500'000, 10'000);
  const auto fit = bounds.fit();
  ASSERT_TRUE(fit);
  EXPECT_NEAR(static_cast<double>(at(*fit, 500'000)), 20'000, 1);
}

// No line fits a clock that was set forward, or stood still for a while.
TEST(OffsetBounds, AStepMakesTwoLines) {
  for (const std::int64_t step_ns : {5'000'000, -5'000'000}) {
    Messages messages(50);
    messages.step_at_ns = 10 * kSecond;
    messages.step_ns = step_ns;
    order::OffsetBounds bounds(0, 20 * kSecond, 64);
    messages.exchange(bounds, 0, 20 * kSecond);
    const auto fit = bounds.fit();
    ASSERT_TRUE(fit);
    EXPECT_EQ(fit->pieces, 2U);
    ASSERT_EQ(fit->points.size(), 4U);
    EXPECT_NEAR(static_cast<double>(at(*fit, 2 * kSecond) - messages.offsetAt(2 * kSecond)), 0,
                50'000);
    EXPECT_NEAR(static_cast<double>(at(*fit, 18 * kSecond) - messages.offsetAt(18 * kSecond)), 0,
                50'000);
    EXPECT_GT(fit->points[2].at_ns, 9 * kSecond);
    EXPECT_LT(fit->points[2].at_ns, 11 * kSecond);
  }
}

// The second clock stands still for longer than there is between two messages.
TEST(OffsetBounds, BothClocksGoOnThroughAStep) {
  Messages messages(50);
  messages.step_at_ns = 10 * kSecond;
  messages.step_ns = -5'000'000;
  order::OffsetBounds bounds(0, 20 * kSecond, 64);
  messages.exchange(bounds, 0, 20 * kSecond, 100'000);
  const auto fit = bounds.fit();
  ASSERT_TRUE(fit);
  EXPECT_LE(fit->pieces, 3U);
  for (std::size_t i = 1; i < fit->points.size(); ++i) {
    EXPECT_GT(fit->points[i].at_ns, fit->points[i - 1].at_ns);
    EXPECT_GT(fit->points[i].at_ns + fit->points[i].offset_ns,
              fit->points[i - 1].at_ns + fit->points[i - 1].offset_ns);
  }
  for (const std::int64_t ns : {2 * kSecond, 9 * kSecond, 11 * kSecond, 18 * kSecond}) {
    EXPECT_NEAR(static_cast<double>(at(*fit, ns) - messages.offsetAt(ns)), 0, 50'000) << ns;
  }
}

TEST(OffsetBounds, KeepFewOfManyMessages) {
  Messages messages(50);
  order::OffsetBounds bounds(0, 10'000 * kSecond, 64);
  messages.exchange(bounds, 0, 10'000 * kSecond);
  EXPECT_LT(bounds.bounds().size(), 64U * 2 * 32);
}

}  // namespace
}  // namespace omnio
