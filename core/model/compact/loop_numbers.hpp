// Descriptors and ids that events have, without a list of those that loops make by the million.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/model/compact/event_loop.hpp"

namespace omnio::model {

// The numbers that a line has in its turns: first + step * turn + ..., each once.
class NumberRange {
 public:
  // Nothing where it cannot be told easily whether a number is one of them.
  static std::optional<NumberRange> of(const TurnNumber& number, const LoopPath& path);

  bool contains(std::int64_t number) const;
  // Whether all of the other's are among them; false where that is not known.
  bool covers(const NumberRange& other) const;
  std::int64_t first() const { return first_; }
  // Whether `is_so(number)` of each of them; false too where there are very many.
  template <typename IsSo>
  bool all(IsSo is_so) const {
    constexpr std::int64_t kMost = 1 << 24;
    std::int64_t count = 1;
    for (const auto& [step, turns] : loops_) {
      if (__builtin_mul_overflow(count, turns, &count) || count > kMost) return false;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i;
      std::int64_t number = first_;
      for (const auto& [step, turns] : loops_) {
        number += rest % turns * step;
        rest /= turns;
      }
      if (!is_so(number)) return false;
    }
    return true;
  }
  // False where they have none in common for sure.
  bool mayMeet(const NumberRange& other) const;

 private:
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  // Step and turns of each loop; a step is larger than all that the ones before it add up to.
  std::vector<std::pair<std::int64_t, std::int64_t>> loops_;
};

class Numbers {
 public:
  bool contains(std::int64_t number) const;
  // False where it is there already.
  bool add(std::int64_t number);
  void add(const NumberRange& range) { ranges_.push_back(range); }
  bool mayMeet(const NumberRange& range) const;
  bool covers(const NumberRange& range) const;
  void clear();

 private:
  std::unordered_set<std::int64_t> numbers_;
  std::vector<NumberRange> ranges_;
};

// With the place of the line in the document.
using PlacedNumber = std::pair<std::int64_t, base::TextPlace>;
using PlacedRange = std::pair<NumberRange, base::TextPlace>;

// The descriptors that an event works on, or kNoDescriptor.
std::vector<Descriptor> descriptorsOf(const ScheduleEvent& event);

// Those of a loop.
class LoopDescriptors {
 public:
  // `made`: before the loop; outlives it.
  explicit LoopDescriptors(const Numbers& made) : made_before_(made) {}

  // False where the loop uses or makes descriptors in a way that only its single events tell.
  bool take(const EventLoop& loop);
  // Used, and not made in the loop before.
  const std::vector<PlacedNumber>& used() const { return used_; }
  const std::vector<PlacedNumber>& made() const { return made_; }
  const std::vector<PlacedRange>& ranges() const { return ranges_; }

 private:
  bool takeUses(const LoopLine& line, const LoopPath& path);
  bool takeMade(const LoopLine& line, const LoopPath& path);

  const Numbers& made_before_;
  std::vector<TurnNumber> made_here_;
  std::vector<PlacedNumber> used_;
  std::vector<PlacedNumber> made_;
  std::vector<PlacedRange> ranges_;
};

// Ids of a loop's events, and those that they wait for.
class LoopIds {
 public:
  // `ids`: before the loop; outlives it.
  explicit LoopIds(const Numbers& ids) : ids_before_(ids) {}

  // False where only the single events tell.
  bool take(const EventLoop& loop);
  const std::vector<PlacedNumber>& ids() const { return ids_; }
  const std::vector<PlacedRange>& ranges() const { return ranges_; }
  const std::vector<PlacedNumber>& awaited() const { return awaited_; }
  const std::vector<PlacedRange>& awaitedRanges() const { return awaited_ranges_; }

 private:
  bool takeId(const LoopLine& line, const LoopPath& path);
  bool takeWaits(const LoopLine& line, const LoopPath& path);

  const Numbers& ids_before_;
  std::vector<PlacedNumber> ids_;
  std::vector<PlacedRange> ranges_;
  std::vector<PlacedNumber> awaited_;
  std::vector<PlacedRange> awaited_ranges_;
};

}  // namespace omnio::model
