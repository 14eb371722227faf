// Finds the nests of loops in a sequence of items while it is read. Two steps:
//
// - Nested loop recognition (core/pattern/loop_recognition.hpp), where all numbers of a part change
//   by constant steps. This finds nests of any depth whose numbers are affine in the turns.
// - What is left is looked through for runs of the same parts with other numbers. Such a run
//   becomes a loop with lists of values.
//
// The memory is bounded by kMostElements parts and their bodies, so a sequence comes back in
// pieces, in its order. The cost of an item is bounded too: about kMostInList comparisons of
// parts, and as many of turns where parts are alike. Not for several threads at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/pattern/loop_recognition.hpp"
#include "core/pattern/nest.hpp"

namespace omnio::pattern {

class NestFinder : private LoopRecognition<NestFinder> {
 public:
  static constexpr std::size_t kMostInBody = 340;     // parts of a body
  static constexpr std::size_t kMostInList = 128;     // parts of a body with lists
  static constexpr std::size_t kMostElements = 2048;  // parts that are held; three turns and more

  // Takes items and loops in the order of the sequence.
  using Emit = std::function<void(const Nest& nest)>;
  // `most_turns`: loops inside of each other have no more turns in all. A longer one ends, and
  // another one goes on.
  explicit NestFinder(Emit emit, std::uint64_t most_turns = UINT64_MAX)
      : emit_(std::move(emit)), most_turns_(most_turns) {}

  // Items of a kind have as many numbers, and as many measures, as each other. There may be no
  // measures; then loops have none.
  void add(std::uint32_t kind, std::span<const std::int64_t> numbers,
           std::span<const std::int64_t> measures = {});
  // Ends the sequence. The finder may be used for another one then.
  void finish();

 private:
  struct Element;
  using Body = std::vector<Element>;
  // An item, or a loop over the parts of a body.
  struct Element {
    std::uint64_t like = 0;  // the same for parts that differ in numbers and measures alone
    std::uint32_t kind = 0;
    std::shared_ptr<const Body> body;
    std::uint64_t count = 1;
    std::uint64_t inner_turns = 1;  // the most that its parts have
    std::size_t number_count = 0;   // of an item, or of all items of the body
    std::size_t measure_count = 0;
    std::vector<std::int64_t> numbers;  // in the first turn; none for a part of a body
    std::vector<std::int64_t> steps;    // of a loop, by number
    // Sums over the turns; those of a loop begin with its own one. None for a part of a body.
    std::vector<std::int64_t> measures;

    std::size_t length() const { return body ? body->size() : 0; }
    std::uint64_t turns() const { return count * inner_turns; }  // of all loops down to an item
    bool isLike(const Element& other) const;
    void mark();
  };

  friend class LoopRecognition<NestFinder>;
  bool continuesLoop(std::size_t at) const;
  void takeTurn(std::size_t at);
  bool areTurns(std::size_t length, std::size_t turns) const;
  bool makeLoop(std::size_t length, std::size_t turns);

  bool advanceAlike(std::size_t at, std::size_t length) const;
  void addTurn(Element& loop, std::size_t first) const;
  std::uint64_t keyOf(std::size_t at) const;
  void push(Element element);
  void drop(std::size_t count);
  void emitUpTo(std::size_t end);
  std::size_t emitRun(std::size_t first, std::size_t end);
  void emitElement(const Element& element);

  std::uint64_t turnsFrom(std::size_t first, std::size_t length) const;

  Emit emit_;
  const std::uint64_t most_turns_;
  std::vector<Element> elements_;
  std::vector<std::uint64_t> likes_;  // the same by element, where most comparisons end
};

}  // namespace omnio::pattern
