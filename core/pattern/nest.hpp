// A sequence of items as nests of loops. An item has a kind, which is the same in every turn, and
// numbers, which may change from turn to turn. Plain values: safe to copy, and to read from several
// threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace omnio::pattern {

// A number of an item inside of loops: base + the sum over the loops of step * turn, turns counted
// from 0. Where one of these loops has a list of values for it, the value of the turn is added.
struct Field {
  std::int64_t base = 0;
  std::vector<std::int64_t> steps;  // one for each loop around the item, the outermost first
  // The loop, counted from the outermost, that has the list, and which of its lists it is.
  static constexpr std::size_t kNoList = SIZE_MAX;
  std::size_t list_loop = kNoList;
  std::size_t list = 0;

  bool varies() const;
  bool operator==(const Field&) const = default;
};

// What was measured of each item that a place stands for (times, say), in sum. A loop over turns
// has the measures of its items, but for the first measure of the first item of its first turn: the
// loop has that one itself. So the time before a loop is not mixed with the times inside of it.
struct Measures {
  std::vector<std::int64_t> sums;
  std::uint64_t count = 1;        // how many items there are in the sums
  std::uint64_t first_count = 1;  // how many in the first sum

  bool operator==(const Measures&) const = default;
};

// One item, or a loop.
struct Nest {
  std::uint32_t kind = 0;     // of an item
  std::vector<Field> fields;  // of an item
  Measures measures;          // those of an item; the first one of a loop

  std::uint64_t count = 1;  // turns of a loop
  std::vector<Nest> body;
  // Values by turn, each list as long as the loop has turns.
  std::vector<std::vector<std::int64_t>> lists;

  bool isLoop() const { return !body.empty(); }
};

// How many items it stands for.
std::uint64_t itemsOf(const Nest& nest);

// Calls `take` with the kind and the numbers of each item, in the order of the sequence.
template <typename Take>
void forEachItem(const Nest& nest, Take take);

// The value of a field in these turns of the loops around it, the outermost first. Sums wrap around
// at 64 bits, as those of the finder do.
std::int64_t valueOf(const Field& field, std::span<const Nest* const> loops,
                     std::span<const std::uint64_t> turns);

namespace detail {

template <typename Take>
void eachItem(const Nest& nest, std::vector<const Nest*>& loops, std::vector<std::uint64_t>& turns,
              std::vector<std::int64_t>& numbers, Take& take) {
  if (!nest.isLoop()) {
    numbers.clear();
    for (const Field& field : nest.fields) numbers.push_back(valueOf(field, loops, turns));
    take(nest.kind, std::span<const std::int64_t>(numbers));
    return;
  }
  loops.push_back(&nest);
  turns.push_back(0);
  for (std::uint64_t turn = 0; turn < nest.count; ++turn) {
    turns.back() = turn;
    for (const Nest& part : nest.body) eachItem(part, loops, turns, numbers, take);
  }
  loops.pop_back();
  turns.pop_back();
}

}  // namespace detail

template <typename Take>
void forEachItem(const Nest& nest, Take take) {
  std::vector<const Nest*> loops;
  std::vector<std::uint64_t> turns;
  std::vector<std::int64_t> numbers;
  detail::eachItem(nest, loops, turns, numbers, take);
}

}  // namespace omnio::pattern
