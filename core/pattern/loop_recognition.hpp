// Nested loop recognition (Ketterlin and Clauss, CGO 2008) at the end of a list of parts: which
// parts become a loop, and which ones are one more turn of a loop. Three turns are needed, because
// any two items have some distance. Parts that are loops become parts of other loops in their turn.
//
// The list decides what a part is and when two turns are the same; it derives from this class:
//
//   partCount()                    of the list
//   bodyLength(at)                 parts in the body of the loop at this index; 0 for an item
//   continuesLoop(at)              whether all parts after this one are its next turn
//   takeTurn(at)                   makes them its next turn
//   mayBeAlike(at, before)         quickly, whether the two parts differ in their numbers alone
//   areTurns(length, turns)        whether the last parts are so many turns of `length` parts
//   makeLoop(length, turns)        makes them a loop; false: they must not be one
//
// A new part costs at most a look at `most_in_body` parts for each of the two, and comparisons of
// whole turns only where those are alike.
#pragma once

#include <cstddef>

namespace omnio::pattern {

template <typename List>
class LoopRecognition {
 protected:
  // A loop has at most `most_in_body` parts in its body.
  void fold(std::size_t most_in_body) {
    while (extend(most_in_body) || begin(most_in_body)) {
    }
  }

 private:
  static constexpr std::size_t kTurns = 3;

  bool extend(std::size_t most_in_body) {
    List& list = static_cast<List&>(*this);
    const std::size_t size = list.partCount();
    for (std::size_t length = 1; length <= most_in_body && length < size; ++length) {
      const std::size_t at = size - 1 - length;
      if (list.bodyLength(at) != length || !list.continuesLoop(at)) continue;
      list.takeTurn(at);
      return true;
    }
    return false;
  }

  bool begin(std::size_t most_in_body) {
    List& list = static_cast<List&>(*this);
    const std::size_t size = list.partCount();
    for (std::size_t length = 1; length <= most_in_body && length * kTurns <= size; ++length) {
      if (!list.mayBeAlike(size - 1, size - 1 - length)) continue;
      if (list.areTurns(length, kTurns) && list.makeLoop(length, kTurns)) return true;
    }
    return false;
  }
};

}  // namespace omnio::pattern
