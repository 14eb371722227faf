#include "trace/runtime/clock_meeting.hpp"

namespace omnio::trace {

// The peer's clock is ahead by no more than what the way there seemed to take, and by no less than
// what the way back did (Cristian 1989: half of the shortest round trip is the error). There and
// back may be of two round trips: under load a short way there seldom comes with a short way back.
// In the time between them the clocks drift apart.
ClockMeeting meetingOf(const RoundTrip& there, const RoundTrip& back) {
  constexpr std::int64_t kMostDriftPpm = 200;
  const auto most = static_cast<std::int64_t>(there.peer_ns - there.asked_ns);
  const auto least = static_cast<std::int64_t>(back.peer_ns - back.answered_ns);
  const auto apart = static_cast<std::int64_t>(there.asked_ns - back.answered_ns);
  const std::int64_t drift = (apart < 0 ? -apart : apart) * kMostDriftPpm / 1'000'000;
  const std::int64_t error = (most - least + 1) / 2 + drift;
  if (error < 0) return {};  // a clock that was set, or worse
  const std::uint64_t own = back.answered_ns + static_cast<std::uint64_t>(apart / 2);
  return {.own_ns = own,
          .peer_ns = own + static_cast<std::uint64_t>(least + (most - least) / 2),
          .error_ns = static_cast<std::uint64_t>(error)};
}

void improve(ClockMeeting& best, const RoundTrip* trips, std::size_t count) {
  const RoundTrip& last = trips[count - 1];
  const auto take = [&best](const ClockMeeting& found) {
    if (found.error_ns < best.error_ns) best = found;
  };
  for (std::size_t i = 0; i < count; ++i) {
    take(meetingOf(last, trips[i]));
    take(meetingOf(trips[i], last));
  }
}

}  // namespace omnio::trace
