// Finds the loops in a sequence of requests while it is read, as nested loop recognition does
// (Ketterlin and Clauss, CGO 2008). Two turns of a loop differ in their offset alone.
//
// The finder keeps a list of parts. When the last 3 * n parts are three turns of the same n parts
// with one stride, they become a loop. Parts that continue a loop become one more turn of it. Three
// turns are needed, because any two requests of one size have some stride.
//
// Not for several threads at a time. The cost of add() is bounded: a sequence that nearly repeats
// takes kMostInBody squared comparisons of parts. The memory is bounded by kMostParts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

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
  // A part with the index of its body, so that two parts are compared by numbers alone.
  struct Element {
    std::int64_t start = 0;
    std::uint64_t count = 1;
    std::int64_t stride = 0;
    std::size_t body = 0;  // index in bodies_

    bool isLike(const Element& other) const {
      return count == other.count && stride == other.stride && body == other.body;
    }
  };
  // A request has no elements. The starts of elements count from the first one.
  struct Body {
    std::uint64_t bytes = 0;
    std::vector<Element> elements;
  };
  using Key = std::vector<std::int64_t>;

  std::size_t numberOf(Body body);
  std::size_t requestNumber(std::uint64_t bytes);
  void fold();
  bool extend();
  bool begin(std::size_t turns);
  bool sameTurns(std::size_t length, std::size_t turns) const;
  void replace(std::size_t length, std::size_t turns);
  Part partOf(const Element& element) const;

  std::vector<Element> elements_;
  std::vector<Body> bodies_;
  std::map<Key, std::size_t> numbers_;
  std::size_t last_request_ = 0;  // number of its body
  bool gave_up_ = false;
};

}  // namespace omnio::pattern
