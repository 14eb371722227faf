// Finds the loops in a sequence of requests while it is read (core/pattern/access/loop_list.hpp).
//
// Not for several threads at a time. The cost of add() is bounded: a sequence that nearly repeats
// takes kMostInBody squared comparisons of parts. The memory is bounded by kMostParts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/pattern/access/loop_list.hpp"
#include "core/pattern/part.hpp"

namespace omnio::pattern {

class LoopFinder {
 public:
  // Maximum number of parts in the body of a loop: the cells of a rank in BT-IO on 4,096 ranks.
  static constexpr std::size_t kMostInBody = 64;
  // Maximum number of parts of a sequence, and of different bodies. A longer list is irregular, and
  // the finder gives up. The limits are small because thousands of finders exist at a time.
  static constexpr std::size_t kMostParts = 1024;
  static constexpr std::size_t kMostBodies = 256;

  void add(std::int64_t offset, std::uint64_t bytes);

  // Whether the sequence is irregular; then finish() returns nothing.
  bool gaveUp() const { return gave_up_; }

  // Ends the sequence and returns its parts in their order. Two equal halves are a loop of two
  // turns here.
  std::vector<Part> finish();

 private:
  access::LoopList list_{kMostInBody};
  bool gave_up_ = false;
};

}  // namespace omnio::pattern
