#include "replay/run/pieces.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/base/integers.hpp"

namespace omnio::replay {

std::uint64_t largestPiece() {
  const char* const text = std::getenv("OMNIO_REPLAY_LARGEST_PIECE");
  if (text == nullptr) return kLargestPiece;
  const auto number = base::wholeNumber<std::uint64_t>(text);
  return number && *number > 0 ? std::min(*number, kLargestPiece) : kLargestPiece;
}

}  // namespace omnio::replay
