// Two clocks compared by questions and answers, and the clock that is wrong on purpose.
#include "trace/runtime/clock_meeting.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "trace/runtime/test_clock.hpp"

namespace omnio::trace {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// A round trip that begins at `asked`, with so long a way there and back, to a clock that is ahead
// by `ahead` (and behind when that is negative).
RoundTrip trip(std::uint64_t asked, std::uint64_t there, std::uint64_t back, std::int64_t ahead) {
  return {.asked_ns = asked,
          .peer_ns = asked + there + static_cast<std::uint64_t>(ahead),
          .answered_ns = asked + there + back};
}

std::int64_t aheadIn(const ClockMeeting& meeting) {
  return static_cast<std::int64_t>(meeting.peer_ns - meeting.own_ns);
}

TEST(ClockMeeting, OfOneRoundTripIsWrongByHalfOfIt) {
  const RoundTrip only = trip(kSecond, 10'000, 30'000, 500);
  const ClockMeeting meeting = meetingOf(only, only);
  EXPECT_EQ(meeting.own_ns, kSecond + 20'000);
  EXPECT_EQ(aheadIn(meeting), 500 - 10'000);
  EXPECT_EQ(meeting.error_ns, 20'008U);  // and 200 ppm of the 40 us
}

TEST(ClockMeeting, TakesTheShortWaysOfDifferentRoundTrips) {
  for (const std::int64_t ahead : {std::int64_t{-3'000'000'000}, std::int64_t{3'000'000'000}}) {
    const std::vector<RoundTrip> trips = {trip(10 * kSecond, 5'000'000, 20'000, ahead),
                                          trip(10 * kSecond + 8'000'000, 10'000, 7'000'000, ahead)};
    ClockMeeting best;
    for (std::size_t count = 1; count <= trips.size(); ++count) improve(best, trips.data(), count);
    // 15 us, and 200 ppm of the 3 ms between the two.
    EXPECT_NEAR(static_cast<double>(best.error_ns), 15'596, 2);
    EXPECT_NEAR(static_cast<double>(aheadIn(best)), static_cast<double>(ahead), 15'000);
    EXPECT_GT(best.own_ns, 10 * kSecond);
    EXPECT_LT(best.own_ns, 10 * kSecond + 16'000'000);
  }
}

TEST(ClockMeeting, IsWithinItsErrorWhateverTheWaysTake) {
  std::srand(5);
  for (int run = 0; run < 200; ++run) {
    const std::int64_t ahead = std::rand() % 2'000'000'000 - 1'000'000'000;
    std::vector<RoundTrip> trips;
    std::uint64_t at = kSecond;
    ClockMeeting best;
    for (int i = 0; i < 20; ++i) {
      const auto way = [] { return static_cast<std::uint64_t>(1000 + std::rand() % 900'000); };
      trips.push_back(trip(at, way(), way(), ahead));
      at = trips.back().answered_ns + 1000;
      const std::uint64_t before = best.error_ns;
      improve(best, trips.data(), trips.size());
      ASSERT_LE(best.error_ns, before);
    }
    ASSERT_LE(static_cast<std::uint64_t>(std::llabs(aheadIn(best) - ahead)), best.error_ns);
  }
}

TEST(ClockMeeting, OfAClockThatWasSetIsNone) {
  // The answer seems to be older than it can be, by a second.
  EXPECT_EQ(
      meetingOf(trip(kSecond, 1000, 1000, -1'000'000'000), trip(kSecond, 1000, 1000, 0)).error_ns,
      ClockMeeting::kUnknown);
}

TEST(TestClock, IsReadWholeOrNotAtAll) {
  const TestClock clock = parseTestClock("-3000000000:50");
  EXPECT_TRUE(clock.isSet());
  EXPECT_EQ(clock.ahead_ns, -3'000'000'000);
  EXPECT_EQ(clock.fast_ppm, 50);
  EXPECT_STREQ(clock.text, "-3000000000:50");
  for (const char* wrong :
       {"", ":", "1", "1:", ":1", "1:2x", "1 :2", "1:20000", "--1:2", "99999999999999999999:1"}) {
    EXPECT_FALSE(parseTestClock(wrong).isSet()) << wrong;
  }
}

}  // namespace
}  // namespace omnio::trace
