// The parts of a file that a run writes: pieces that are apart from each other. A run may write
// anywhere, so several pieces are gathered before they are put in order with the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace omnio::replay {

class WrittenPieces {
 public:
  struct Piece {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  // one past the last byte
  };

  // `most`: where more pieces are apart from each other, those count that came first, and what
  // touches them.
  void add(Piece piece, std::size_t most);
  // Puts all in order.
  void settle(std::size_t most);
  // How many are held; before settle() some may be parts of others.
  std::size_t size() const { return settled_.size() + fresh_.size(); }
  // In order and apart from each other, after settle().
  const std::vector<Piece>& pieces() const { return settled_; }

 private:
  std::vector<Piece> settled_;  // in order
  std::vector<Piece> fresh_;    // as they came
};

}  // namespace omnio::replay
