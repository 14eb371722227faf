#include "core/base/moments.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>

namespace omnio::base {
namespace {

Moments of(std::initializer_list<double> values) {
  Moments moments;
  for (const double value : values) moments.add(value);
  return moments;
}

TEST(Moments, PartsPutTogetherAreTheWhole) {
  Moments all = of({});
  for (const Moments& part : {of({}), of({4, 8}), of({15}), of({}), of({16, 23, 42})})
    all.add(part);
  EXPECT_EQ(all.count(), 6U);
  EXPECT_DOUBLE_EQ(all.average(), 18);
  EXPECT_DOUBLE_EQ(all.variance(), (14.0 * 14 + 10 * 10 + 3 * 3 + 2 * 2 + 5 * 5 + 24 * 24) / 6);
  EXPECT_EQ(all.least(), 4);
  EXPECT_EQ(all.most(), 42);
}

// The squares of these differ in digits that a double does not have.
TEST(Moments, SmallDifferencesOfLargeValuesAreNotLost) {
  constexpr double kLarge = 1e15;
  Moments all = of({kLarge + 1, kLarge + 2});
  all.add(of({kLarge + 3, kLarge + 4}));
  EXPECT_DOUBLE_EQ(all.variance(), 1.25);
  EXPECT_DOUBLE_EQ(all.deviation(), std::sqrt(1.25));
}

TEST(Moments, OneValueOrNoneHasNoDeviation) {
  EXPECT_EQ(of({}).deviation(), 0);
  EXPECT_EQ(of({7}).deviation(), 0);
}

}  // namespace
}  // namespace omnio::base
