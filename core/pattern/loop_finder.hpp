// Finds the loops in a sequence of requests while it is read, as nested loop recognition does
// (Ketterlin and Clauss, CGO 2008), for requests that differ in nothing but their place.
//
// What stands at the end is a list of parts. As soon as its last 3 * n parts are three times the
// same n, at one distance, they become a loop; what goes on with a loop becomes another turn of it.
// Three, since any two requests of one size are at some distance from each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/pattern/part.hpp"

namespace omnio::pattern {

class LoopFinder {
 public:
  // Parts in the body of a loop, at most: as many as a rank of 4,096 has cells in BT-IO.
  static constexpr std::size_t kMostInBody = 64;
  // Parts that the sequence may be in, and different ones among them. A sequence of more is not
  // regular, and is given up: there may be thousands of them at a time.
  static constexpr std::size_t kMostParts = 1024;
  static constexpr std::size_t kMostBodies = 256;

  void add(std::int64_t offset, std::uint64_t bytes);

  // Whether the sequence was given up.
  bool gaveUp() const { return gave_up_; }

  // The parts, in their order; two halves that are the same count as a loop now. The sequence is
  // over.
  std::vector<Part> finish();

 private:
  // A part whose body is known by its number: comparing two is comparing numbers.
  struct Element {
    std::int64_t start = 0;
    std::uint64_t count = 1;
    std::int64_t stride = 0;
    std::size_t body = 0;  // index in bodies_

    bool isLike(const Element& other) const {
      return count == other.count && stride == other.stride && body == other.body;
    }
  };
  // A request: no elements. Starts are counted from the first.
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
