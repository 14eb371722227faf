// Which descriptors the threads of a rank make, without a list of those that loops make by the
// million.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/model/event_loop.hpp"

namespace omnio::model {

// The numbers that a line makes in its turns: first + step * turn + ..., each once.
class DescriptorRange {
 public:
  // Nothing where it cannot be told easily whether a number is one of them.
  static std::optional<DescriptorRange> of(const TurnNumber& number, const LoopPath& path);

  bool contains(std::int64_t number) const;
  // False where they have none in common for sure.
  bool mayMeet(const DescriptorRange& other) const;

 private:
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  // Step and turns of each loop; a step is larger than all that the ones before it add up to.
  std::vector<std::pair<std::int64_t, std::int64_t>> loops_;
};

class MadeDescriptors {
 public:
  bool contains(std::int64_t number) const;
  // False where it is there already.
  bool add(std::int64_t number);
  void add(const DescriptorRange& range) { ranges_.push_back(range); }
  bool mayMeet(const DescriptorRange& range) const;
  void clear();

 private:
  std::unordered_set<std::int64_t> numbers_;
  std::vector<DescriptorRange> ranges_;
};

// The descriptors that an event works on, or kNoDescriptor.
std::vector<Descriptor> descriptorsOf(const ScheduleEvent& event);

// Those of a loop.
class LoopDescriptors {
 public:
  // `made`: before the loop; outlives it.
  explicit LoopDescriptors(const MadeDescriptors& made) : made_before_(made) {}

  // False where the loop uses or makes descriptors in a way that only its single events tell.
  bool take(const EventLoop& loop);
  // Used, and not made in the loop before.
  const std::vector<std::int64_t>& used() const { return used_; }
  const std::vector<std::int64_t>& made() const { return made_; }
  const std::vector<DescriptorRange>& ranges() const { return ranges_; }

 private:
  bool takeUses(const LoopLine& line, const LoopPath& path);
  bool takeMade(const LoopLine& line, const LoopPath& path);

  const MadeDescriptors& made_before_;
  std::vector<TurnNumber> made_here_;
  std::vector<std::int64_t> used_;
  std::vector<std::int64_t> made_;
  std::vector<DescriptorRange> ranges_;
};

}  // namespace omnio::model
