#include "core/model/compact/loop_numbers.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/model/schedule_keys.hpp"

namespace omnio::model {
namespace {

// Lists of single descriptors are no longer than this.
constexpr std::int64_t kMostSingle = 1 << 16;
constexpr std::int64_t kMostLookedAt = 1 << 20;
constexpr std::size_t kMostAwaited = 1 << 22;  // of a loop, by single ids

constexpr std::array kUses = {&ScheduleEvent::fd, &ScheduleEvent::source, &ScheduleEvent::replaced,
                              &ScheduleEvent::directory, &ScheduleEvent::new_directory};

std::optional<TurnNumber> numberOf(const LoopLine& line, Descriptor ScheduleEvent::*member) {
  return line.number([member](const ScheduleEvent& event) { return event.*member; });
}

bool hasSingle(const std::vector<PlacedNumber>& numbers, std::int64_t number) {
  return std::ranges::find(numbers, number, &PlacedNumber::first) != numbers.end();
}

bool hasInRange(const std::vector<PlacedRange>& ranges, std::int64_t number) {
  return std::ranges::any_of(ranges,
                             [number](const auto& one) { return one.first.contains(number); });
}

// The numbers of a line, which all have to be others than those before: single ones where they are
// few. False where that cannot be told easily.
bool takeNumbers(const TurnNumber& number, const LoopLine& line, const LoopPath& path,
                 const Numbers& before, std::vector<PlacedNumber>& single,
                 std::vector<PlacedRange>& ranges) {
  const auto passes = passesOf(path);
  if (!passes) return false;
  if (*passes <= kMostSingle) {
    TurnValues values = line.firstValues();
    return forTurnsWhile(path, values, [&](const TurnValues& now) {
      single.emplace_back(number.at(now, line.firstValues()), line.place);
      return !hasInRange(ranges, single.back().first);
    });
  }
  auto range = NumberRange::of(number, path);
  if (!range || before.mayMeet(*range)) return false;
  for (const auto& [other, place] : ranges) {
    if (other.mayMeet(*range)) return false;
  }
  for (const auto& [other, place] : single) {
    if (range->contains(other)) return false;
  }
  ranges.emplace_back(std::move(*range), line.place);
  return true;
}

}  // namespace

std::optional<NumberRange> NumberRange::of(const TurnNumber& number, const LoopPath& path) {
  NumberRange range;
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

bool NumberRange::contains(std::int64_t number) const {
  if (number < first_ || number > last_) return false;
  std::int64_t rest = number - first_;
  for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
    rest -= std::min(rest / loop->first, loop->second - 1) * loop->first;
  }
  return rest == 0;
}

bool NumberRange::mayMeet(const NumberRange& other) const {
  if (last_ < other.first_ || other.last_ < first_) return false;
  std::int64_t common = 0;
  for (const auto& [step, turns] : loops_) common = std::gcd(common, step);
  for (const auto& [step, turns] : other.loops_) common = std::gcd(common, step);
  return common == 0 || (first_ - other.first_) % common == 0;
}

bool NumberRange::covers(const NumberRange& other) const {
  if (!contains(other.first_) || !contains(other.last_)) return false;
  return std::ranges::all_of(other.loops_, [&](const auto& loop) {
    return contains(other.first_ + loop.first) &&
           contains(other.first_ + loop.first * (loop.second - 1));
  });
}

bool Numbers::contains(std::int64_t number) const {
  return numbers_.contains(number) || std::ranges::any_of(ranges_, [number](const auto& range) {
           return range.contains(number);
         });
}

bool Numbers::add(std::int64_t number) {
  if (contains(number)) return false;
  numbers_.insert(number);
  return true;
}

bool Numbers::mayMeet(const NumberRange& range) const {
  return std::ranges::any_of(numbers_,
                             [&range](std::int64_t number) { return range.contains(number); }) ||
         std::ranges::any_of(ranges_, [&range](const auto& one) { return one.mayMeet(range); });
}

bool Numbers::covers(const NumberRange& range) const {
  return std::ranges::any_of(ranges_, [&range](const auto& one) { return one.covers(range); });
}

void Numbers::clear() {
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
      // Made in one turn of this loop, and used in others.
      if (hasSingle(made_, number->first) || hasInRange(ranges_, number->first)) return false;
      if (number->first != static_cast<std::int64_t>(kNoDescriptor))
        used_.emplace_back(number->first, line.place);
      continue;
    }
    const auto passes = passesOf(loops);
    if (!passes || *passes > kMostLookedAt) return false;
    TurnValues values = line.firstValues();
    const bool are_there = forTurnsWhile(loops, values, [&](const TurnValues& now) {
      return made_before_.contains(number->at(now, line.firstValues()));
    });
    // Made by a later thread, or in another turn.
    if (!are_there) return false;
  }
  return true;
}

bool LoopDescriptors::takeMade(const LoopLine& line, const LoopPath& path) {
  if (!makesDescriptor(line.first())) return true;
  const auto number = numberOf(line, &ScheduleEvent::new_fd);
  if (!number) return false;
  made_here_.push_back(*number);
  return takeNumbers(*number, line, path, made_before_, made_, ranges_);
}

bool LoopIds::take(const EventLoop& loop) {
  bool is_told = true;
  forEachLine(loop, [&](const LoopLine& line, const LoopPath& path) {
    is_told = is_told && takeId(line, path) && takeWaits(line, path);
  });
  return is_told;
}

bool LoopIds::takeId(const LoopLine& line, const LoopPath& path) {
  const auto number = line.number([](const ScheduleEvent& event) { return event.id; });
  if (!number) return false;
  if (number->first == 0 && number->steps.empty()) return true;
  return takeNumbers(*number, line, path, ids_before_, ids_, ranges_);
}

bool LoopIds::takeWaits(const LoopLine& line, const LoopPath& path) {
  for (std::size_t i = 0; i < line.first().after.size(); ++i) {
    const auto number = line.number([i](const ScheduleEvent& event) { return event.after[i].id; });
    if (!number) return false;
    const LoopPath loops = loopsOf(*number, path);
    const auto passes = passesOf(loops);
    if (!passes) return false;
    if (*passes <= kMostSingle) {
      if (awaited_.size() > kMostAwaited) return false;
      TurnValues values = line.firstValues();
      forEachTurn(loops, values, [&](const TurnValues& now) {
        awaited_.emplace_back(number->at(now, line.firstValues()), line.place);
      });
      continue;
    }
    auto range = NumberRange::of(*number, loops);
    if (!range) return false;
    awaited_ranges_.emplace_back(std::move(*range), line.place);
  }
  return true;
}

}  // namespace omnio::model
