// What questions and answers between two processes tell of their clocks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omnio::trace {

// A question and its answer, by the own clock and the peer's; nanoseconds.
struct RoundTrip {
  std::uint64_t asked_ns = 0;
  std::uint64_t peer_ns = 0;
  std::uint64_t answered_ns = 0;
};

// Both clocks at one moment, and how wrong that can be at most.
struct ClockMeeting {
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

  std::uint64_t own_ns = 0;
  std::uint64_t peer_ns = 0;
  std::uint64_t error_ns = kUnknown;
};

// What the way there of one round trip and the way back of one, another or the same, say together.
ClockMeeting meetingOf(const RoundTrip& there, const RoundTrip& back);

// Improves `best` by the last of the round trips, with all those before it.
void improve(ClockMeeting& best, const RoundTrip* trips, std::size_t count);

}  // namespace omnio::trace
