// Counts what goes one way: the messages of a communicator and tag from one rank to another, the
// posts of a window to one rank. Both ends count alike, so the numbers say which belong together.
#pragma once

#include <cstdint>

namespace omnio::trace {

enum class Way : std::uint8_t { kOut, kIn, kPosted, kAccessed, kCompleted, kExposed, kNamed };

// What a counter is of. Every one there has been stays, up to a bound, which kNamed has for itself.
struct Stream {
  std::uint64_t group = 0;  // its id, or what else tells it from others
  std::int32_t peer = 0;
  std::int32_t tag = 0;
  Way way = Way::kOut;
};

// Counts one: its number, from 1. 0 when no more counters fit; readers then count.
std::uint64_t countIn(const Stream& stream);
// How many there were.
std::uint64_t countOf(const Stream& stream);

}  // namespace omnio::trace
