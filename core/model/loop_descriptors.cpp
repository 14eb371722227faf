#include "core/model/loop_descriptors.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/model/schedule_keys.hpp"

namespace omnio::model {
namespace {

// Lists of single descriptors are no longer than this.
constexpr std::int64_t kMostSingle = 1 << 16;
constexpr std::int64_t kMostLookedAt = 1 << 20;

constexpr std::array kUses = {&ScheduleEvent::fd, &ScheduleEvent::source, &ScheduleEvent::replaced,
                              &ScheduleEvent::directory, &ScheduleEvent::new_directory};

std::optional<TurnNumber> numberOf(const LoopLine& line, Descriptor ScheduleEvent::*member) {
  return line.number([member](const ScheduleEvent& event) { return event.*member; });
}

}  // namespace

std::optional<DescriptorRange> DescriptorRange::of(const TurnNumber& number, const LoopPath& path) {
  DescriptorRange range;
  range.first_ = range.last_ = number.first;
  for (const EventLoop* loop : path) {
    if (loop->turns > 1) range.loops_.emplace_back(number.stepAt(loop->place), loop->turns);
  }
  // Values of lists are no loops.
  if (number.steps.size() > range.loops_.size()) return {};
  std::ranges::sort(range.loops_);
  for (const auto& [step, turns] : range.loops_) {
    std::int64_t reach = 0;
    if (step <= range.last_ - range.first_ || __builtin_mul_overflow(step, turns - 1, &reach) ||
        __builtin_add_overflow(range.last_, reach, &range.last_)) {
      return {};
    }
  }
  return range;
}

bool DescriptorRange::contains(std::int64_t number) const {
  if (number < first_ || number > last_) return false;
  std::int64_t rest = number - first_;
  for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
    rest -= std::min(rest / loop->first, loop->second - 1) * loop->first;
  }
  return rest == 0;
}

bool DescriptorRange::mayMeet(const DescriptorRange& other) const {
  if (last_ < other.first_ || other.last_ < first_) return false;
  std::int64_t common = 0;
  for (const auto& [step, turns] : loops_) common = std::gcd(common, step);
  for (const auto& [step, turns] : other.loops_) common = std::gcd(common, step);
  return common == 0 || (first_ - other.first_) % common == 0;
}

bool MadeDescriptors::contains(std::int64_t number) const {
  return numbers_.contains(number) || std::ranges::any_of(ranges_, [number](const auto& range) {
           return range.contains(number);
         });
}

bool MadeDescriptors::add(std::int64_t number) {
  if (contains(number)) return false;
  numbers_.insert(number);
  return true;
}

bool MadeDescriptors::mayMeet(const DescriptorRange& range) const {
  return std::ranges::any_of(numbers_,
                             [&range](std::int64_t number) { return range.contains(number); }) ||
         std::ranges::any_of(ranges_, [&range](const auto& one) { return one.mayMeet(range); });
}

void MadeDescriptors::clear() {
  numbers_.clear();
  ranges_.clear();
}

std::vector<Descriptor> descriptorsOf(const ScheduleEvent& event) {
  std::vector<Descriptor> used;
  for (const auto member : kUses) used.push_back(event.*member);
  return used;
}

bool LoopDescriptors::take(const EventLoop& loop) {
  bool is_told = true;
  forEachLine(loop, [&](const LoopLine& line, const LoopPath& path) {
    is_told = is_told && takeUses(line, path) && takeMade(line, path);
  });
  return is_told;
}

bool LoopDescriptors::takeUses(const LoopLine& line, const LoopPath& path) {
  for (const auto member : kUses) {
    const auto number = numberOf(line, member);
    if (!number) return false;
    if (std::ranges::find(made_here_, *number) != made_here_.end()) continue;
    const LoopPath loops = loopsOf(*number, path);
    if (loops.empty()) {
      if (number->first != static_cast<std::int64_t>(kNoDescriptor)) used_.push_back(number->first);
      continue;
    }
    const auto passes = passesOf(loops);
    if (!passes || *passes > kMostLookedAt) return false;
    bool are_there = true;
    TurnValues values = line.firstValues();
    forEachTurn(loops, values, [&](const TurnValues& now) {
      are_there = are_there && made_before_.contains(number->at(now, line.firstValues()));
    });
    // Made by a later thread, or in another turn.
    if (!are_there) return false;
  }
  return true;
}

bool LoopDescriptors::takeMade(const LoopLine& line, const LoopPath& path) {
  if (!makesDescriptor(line.first())) return true;
  const auto number = numberOf(line, &ScheduleEvent::new_fd);
  const auto passes = passesOf(path);
  if (!number || !passes) return false;
  made_here_.push_back(*number);
  if (*passes <= kMostSingle) {
    TurnValues values = line.firstValues();
    forEachTurn(path, values, [&](const TurnValues& now) {
      made_.push_back(number->at(now, line.firstValues()));
    });
    return true;
  }
  auto range = DescriptorRange::of(*number, path);
  if (!range || made_before_.mayMeet(*range)) return false;
  for (const DescriptorRange& other : ranges_) {
    if (other.mayMeet(*range)) return false;
  }
  for (const std::int64_t other : made_) {
    if (range->contains(other)) return false;
  }
  ranges_.push_back(std::move(*range));
  return true;
}

}  // namespace omnio::model
