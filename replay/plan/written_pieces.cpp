#include "replay/plan/written_pieces.hpp"

#include <algorithm>
#include <utility>

namespace omnio::replay {
namespace {

using Piece = WrittenPieces::Piece;

// Fewer are not worth the walk through the others.
constexpr std::size_t kLeastGathered = 16;

}  // namespace

void WrittenPieces::add(Piece piece, std::size_t most) {
  if (!fresh_.empty() && piece.begin <= fresh_.back().end && piece.end >= fresh_.back().begin) {
    fresh_.back().begin = std::min(fresh_.back().begin, piece.begin);
    fresh_.back().end = std::max(fresh_.back().end, piece.end);
    return;
  }
  fresh_.push_back(piece);
  // A part of what is in order, so that each piece is moved a few times at most.
  if (fresh_.size() >= std::max(kLeastGathered, settled_.size() / 4)) settle(most);
}

void WrittenPieces::settle(std::size_t most) {
  if (fresh_.empty()) return;
  std::ranges::sort(fresh_, {}, &Piece::begin);
  struct Joined {
    Piece piece;
    bool is_known;  // a part of it was in order before
  };
  std::vector<Joined> joined;
  joined.reserve(size());
  const auto take = [&joined](const Piece& piece, bool is_known) {
    if (joined.empty() || piece.begin > joined.back().piece.end) {
      joined.push_back({piece, is_known});
      return;
    }
    Joined& last = joined.back();
    last.piece.end = std::max(last.piece.end, piece.end);
    last.is_known |= is_known;
  };
  auto next = settled_.cbegin();
  for (const Piece& piece : fresh_) {
    while (next != settled_.cend() && next->begin < piece.begin) take(*next++, true);
    take(piece, false);
  }
  while (next != settled_.cend()) take(*next++, true);
  fresh_.clear();
  settled_.clear();
  std::size_t surplus = joined.size() - std::min(joined.size(), most);
  for (const Joined& one : joined) {
    if (!one.is_known && surplus > 0) {
      --surplus;
    } else {
      settled_.push_back(one.piece);
    }
  }
}

}  // namespace omnio::replay
