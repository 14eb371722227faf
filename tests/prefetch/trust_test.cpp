// When predictions of a stream of reads are good enough to be acted on.
#include "prefetch/trust.hpp"

#include <gtest/gtest.h>

namespace omnio::prefetch {
namespace {

void see(Trust& trust, int reads, bool were_right) {
  for (int i = 0; i < reads; ++i) trust.saw(were_right);
}

void end(Trust& trust, int requests, bool were_used) {
  for (int i = 0; i < requests; ++i) trust.ended(were_used);
}

TEST(Trust, BeginsWithThreeInARow) {
  Trust trust;
  EXPECT_FALSE(trust.holds());
  see(trust, 2, true);
  EXPECT_FALSE(trust.holds());
  see(trust, 1, false);
  see(trust, 2, true);
  EXPECT_FALSE(trust.holds());
  see(trust, 1, true);
  EXPECT_TRUE(trust.holds());
}

TEST(Trust, ComesBackSlowlyAfterItWasLost) {
  Trust trust;
  see(trust, 3, true);
  EXPECT_TRUE(trust.holds());
  see(trust, 1, false);
  EXPECT_FALSE(trust.holds());
  see(trust, 3, true);
  EXPECT_FALSE(trust.holds());
  see(trust, 1, true);
  EXPECT_TRUE(trust.holds());
}

TEST(Trust, StaysWhereOneOfTenIsWrong) {
  Trust trust;
  see(trust, 50, true);
  for (int turn = 0; turn < 50; ++turn) {
    see(trust, 1, false);
    EXPECT_TRUE(trust.holds());
    see(trust, 9, true);
  }
}

TEST(Trust, NeverBeginsWhereEveryThirdIsWrong) {
  Trust trust;
  for (int turn = 0; turn < 100; ++turn) {
    see(trust, 2, true);
    see(trust, 1, false);
    EXPECT_FALSE(trust.holds());
  }
}

TEST(Trust, EndsWhereRequestsAreWasted) {
  Trust trust;
  see(trust, 3, true);
  end(trust, 15, false);
  EXPECT_TRUE(trust.holds());  // so few say little
  end(trust, 1, false);
  EXPECT_FALSE(trust.holds());
}

TEST(Trust, FourOfFiveOfTheLast64HaveToBeUsed) {
  Trust trust;
  see(trust, 3, true);
  end(trust, 64, false);
  end(trust, 51, true);  // 79.7 %
  EXPECT_FALSE(trust.holds());
  end(trust, 1, true);
  EXPECT_TRUE(trust.holds());
  end(trust, 1000, true);
  end(trust, 12, false);
  EXPECT_TRUE(trust.holds());
  end(trust, 1, false);
  EXPECT_FALSE(trust.holds());
}

TEST(Trust, BeginsAnewAfter64InARow) {
  Trust trust;
  see(trust, 3, true);
  end(trust, 64, false);
  see(trust, 60, true);
  EXPECT_FALSE(trust.holds());
  see(trust, 1, true);
  EXPECT_TRUE(trust.holds());
}

TEST(Trust, OfAnEarlierRunIsThereAtOnce) {
  Trust trust;
  trust.isKnown();
  EXPECT_TRUE(trust.holds());
  see(trust, 2, false);
  EXPECT_TRUE(trust.holds());
  see(trust, 1, false);
  EXPECT_FALSE(trust.holds());
}

}  // namespace
}  // namespace omnio::prefetch
