// Nested loop recognition (Ketterlin and Clauss, CGO 2008) at the end of a list of parts: which
// parts become a loop, and which ones are one more turn of a loop. Three turns are needed, because
// any two items have some distance. Parts that are loops become parts of other loops in their turn.
//
// The list decides what a part is, and when turns are the same. It derives from this class and has:
//
//   continuesLoop(at)              whether all parts after the loop at this index are its next turn
//   takeTurn(at)                   makes them its next turn
//   areTurns(length, turns)        whether the last parts are so many turns of `length` parts
//   makeLoop(length, turns)        makes them a loop; false: they must not be one
//
// It tells with pushed() and popped() how its end changes, and gives each part a key. A part is
// compared with those of the same key alone, so long bodies cost no more than short ones: keys have
// to be the same for parts at the same place of two turns (but of the first part of the first
// turn), and say what else they like, such as the difference to the part before.
//
// Memory: 16 bytes a part at most. A new part is compared with kMostTried others at most.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace omnio::pattern {

template <typename List>
class LoopRecognition {
 protected:
  static constexpr std::size_t kNone = SIZE_MAX;

  // The list has one more part. The lower bits of its key are mixed well. `body_length`: parts in
  // its body; 0 for an item.
  void pushed(std::uint64_t key, std::size_t body_length) {
    const std::size_t at = entries_.size();
    entries_.push_back({.key = static_cast<std::uint32_t>(key)});
    if (body_length > 0) {
      loops_.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(body_length)});
    }
    if (entries_.size() > heads_.size()) {
      heads_.assign(std::max<std::size_t>(2 * heads_.size(), 8), 0);
      for (std::size_t i = 0; i < entries_.size(); ++i) link(i);
    } else {
      link(at);
    }
  }

  // The last parts are gone.
  void popped(std::size_t count) {
    for (; count > 0; --count) {
      head(entries_.back().key) = entries_.back().previous;
      entries_.pop_back();
    }
    while (!loops_.empty() && loops_.back().at >= entries_.size()) loops_.pop_back();
  }

  // The latest part before this one that has the same key; kNone: there is none.
  std::size_t previousAlike(std::size_t at) const {
    const std::uint32_t key = entries_[at].key;
    std::uint32_t before = entries_[at].previous;
    while (before != 0 && entries_[before - 1].key != key) before = entries_[before - 1].previous;
    return before == 0 ? kNone : before - 1;
  }

  // A loop has at most `most_in_body` parts in its body.
  void fold(std::size_t most_in_body) {
    while (extend(most_in_body) || begin(most_in_body)) {
    }
  }

  std::size_t indexBytes() const {
    return entries_.capacity() * sizeof(Entry) + heads_.capacity() * sizeof(std::uint32_t) +
           loops_.capacity() * sizeof(Loop);
  }

 private:
  static constexpr std::size_t kTurns = 3;
  static constexpr std::size_t kMostTried = 128;
  // Parts are counted from 1 here; 0 is none.
  struct Entry {
    std::uint32_t key = 0;
    std::uint32_t previous = 0;  // with the same head
  };
  struct Loop {
    std::uint32_t at = 0;
    std::uint32_t length = 0;
  };

  std::uint32_t& head(std::uint32_t key) { return heads_[key & (heads_.size() - 1)]; }

  void link(std::size_t at) {
    entries_[at].previous = head(entries_[at].key);
    head(entries_[at].key) = static_cast<std::uint32_t>(at + 1);
  }

  bool extend(std::size_t most_in_body) {
    List& list = static_cast<List&>(*this);
    std::size_t tried = 0;
    for (std::size_t i = loops_.size(); i-- > 0 && tried < kMostTried; ++tried) {
      const std::size_t length = entries_.size() - 1 - loops_[i].at;
      if (length > most_in_body) return false;
      if (loops_[i].length != length || !list.continuesLoop(loops_[i].at)) continue;
      list.takeTurn(loops_[i].at);
      return true;
    }
    return false;
  }

  bool begin(std::size_t most_in_body) {
    List& list = static_cast<List&>(*this);
    const std::size_t size = entries_.size();
    if (size == 0) return false;
    std::size_t tried = 0;
    for (std::size_t before = previousAlike(size - 1); before != kNone && tried < kMostTried;
         before = previousAlike(before), ++tried) {
      const std::size_t length = size - 1 - before;
      if (length > most_in_body || length * kTurns > size) return false;
      if (list.areTurns(length, kTurns) && list.makeLoop(length, kTurns)) return true;
    }
    return false;
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> heads_;  // a power of two of them
  std::vector<Loop> loops_;           // those of the list
};

}  // namespace omnio::pattern
