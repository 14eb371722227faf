// Requests as a list of parts: requests, and loops over parts. Two turns of a loop differ in their
// offset alone. The list is folded while it grows (core/pattern/loop_recognition.hpp).
//
// A part takes 48 bytes, and parts that are the same share their body. Not for several threads at a
// time. Offsets wrap around at 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/pattern/loop_recognition.hpp"
#include "core/pattern/part.hpp"

namespace omnio::pattern::access {

class LoopList : private LoopRecognition<LoopList> {
 public:
  using BodyId = std::uint32_t;
  // A part with the id of its body, so that two parts are compared by numbers alone.
  struct Element {
    std::int64_t start = 0;
    std::uint64_t count = 1;
    std::int64_t stride = 0;
    BodyId body = 0;
    std::uint32_t length = 0;  // elements of its body; 0 for a request

    bool isLoop() const { return length > 0; }
    // Whether both are the same but for where they begin.
    bool isLike(const Element& other) const {
      return body == other.body && count == other.count && stride == other.stride;
    }
    // Where the turn after its last one begins.
    std::int64_t next() const;
  };

  explicit LoopList(std::size_t most_in_body) : most_in_body_(most_in_body) {}

  void add(std::int64_t offset, std::uint64_t bytes);

  std::span<const Element> elements() const { return elements_; }
  std::size_t bodyCount() const { return bodies_.size(); }
  // Elements of all bodies.
  std::size_t bodyElementCount() const { return body_element_count_; }

  // Starts of elements in a body count from the first one.
  std::span<const Element> bodyOf(const Element& loop) const { return bodies_[loop.body].elements; }
  // Size of the request, or of the first one of the loop.
  std::uint64_t bytesOf(const Element& element) const { return bodies_[element.body].bytes; }
  std::uint64_t requestsOf(const Element& element) const;
  Part partOf(const Element& element) const;
  // The latest element before this one that has the same body, and is as far from the one before
  // it; kNone: there is none. Once in 2^32 times it is another one.
  std::size_t previousRepeat(std::size_t at) const { return previousAlike(at); }
  using LoopRecognition::kNone;

  // Drops the oldest elements, and all bodies that no other element has. Ids of bodies change.
  void dropOldest(std::size_t count);
  std::size_t memoryBytes() const;

 private:
  friend class LoopRecognition<LoopList>;

  // A request has no elements.
  struct Body {
    std::uint64_t bytes = 0;     // of the first request
    std::uint64_t requests = 1;  // in a turn
    std::vector<Element> elements;

    std::uint64_t hash() const;
    bool isSame(const Body& other) const;
  };

  BodyId idOf(Body body);
  void index(BodyId id);
  void indexAll();
  BodyId requestId(std::uint64_t bytes);

  bool continuesLast(std::int64_t offset, std::uint64_t bytes) const;
  std::uint64_t keyOf(std::size_t at) const;
  bool continuesLoop(std::size_t at) const;
  void takeTurn(std::size_t at);
  bool areTurns(std::size_t length, std::size_t turns) const;
  bool makeLoop(std::size_t length, std::size_t turns);

  std::size_t most_in_body_;
  std::vector<Element> elements_;
  // A body has elements of bodies before it alone.
  std::vector<Body> bodies_;
  // A hash table of bodies with open addressing: ids plus 1, or 0.
  std::vector<BodyId> slots_;
  std::size_t body_element_count_ = 0;
  BodyId last_request_ = 0;
};

}  // namespace omnio::pattern::access
