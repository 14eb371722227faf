// MPI counts what a call moves in an int: more of it goes in pieces, one after the other.
#pragma once

#include <climits>
#include <cstdint>

namespace omnio::replay {

// The limit of a piece, in elements.
inline constexpr std::uint64_t kLargestPiece = std::uint64_t{1} << 30;
static_assert(kLargestPiece <= INT_MAX);

// Calls `action(first, count)` for pieces that follow each other, `count` (an int) of `all`
// elements from `first` on. All processes that take part have the same `all` and `limit`, and so
// the same pieces. None where there are no elements.
template <typename Action>
void forEachPiece(std::uint64_t all, std::uint64_t limit, Action action) {
  for (std::uint64_t first = 0; first < all;) {
    const std::uint64_t left = all - first;
    const std::uint64_t count = left < limit ? left : limit;
    action(first, static_cast<int>(count));
    first += count;
  }
}

// kLargestPiece; for tests, what OMNIO_REPLAY_LARGEST_PIECE says where that is a smaller number.
std::uint64_t largestPiece();

}  // namespace omnio::replay
