#include "core/model/compact/event_loop.hpp"

#include <algorithm>

namespace omnio::model {
namespace {

// The sum of a place's values over all turns.
WideNumber sumAt(const EventLoop& loop, std::size_t place) {
  if (place == loop.place) return static_cast<WideNumber>(loop.turns) * (loop.turns - 1) / 2;
  WideNumber sum = 0;
  for (const std::int64_t value : *loop.lists[place - loop.place - 1]) sum += value;
  return sum;
}

}  // namespace

std::int64_t TurnNumber::at(const TurnValues& values, const TurnValues& at_first) const {
  auto sum = static_cast<std::uint64_t>(first);
  for (const auto& [place, factor] : steps) {
    sum +=
        (static_cast<std::uint64_t>(values[place]) - static_cast<std::uint64_t>(at_first[place])) *
        static_cast<std::uint64_t>(factor);
  }
  return static_cast<std::int64_t>(sum);
}

std::int64_t TurnNumber::stepAt(std::size_t place) const {
  const auto found = std::ranges::find(steps, place, &std::pair<std::size_t, std::int64_t>::first);
  return found == steps.end() ? 0 : found->second;
}

bool LoopLine::addStep(TurnNumber& result, const TurnValues& values, std::int64_t number) const {
  const TurnValues& at_first = samples.front().values;
  const auto differs = std::ranges::mismatch(values, at_first);
  const auto place = static_cast<std::size_t>(differs.in1 - values.begin());
  const auto by = static_cast<std::int64_t>(static_cast<std::uint64_t>(values[place]) -
                                            static_cast<std::uint64_t>(at_first[place]));
  const auto change = static_cast<std::int64_t>(static_cast<std::uint64_t>(number) -
                                                static_cast<std::uint64_t>(result.first));
  if (by == -1 ? change == INT64_MIN : change % by != 0) return false;
  const std::int64_t factor = change / by;
  const auto known =
      std::ranges::find(result.steps, place, &std::pair<std::size_t, std::int64_t>::first);
  if (known != result.steps.end()) return known->second == factor;
  result.steps.emplace_back(place, factor);
  return true;
}

std::optional<std::int64_t> passesOf(const LoopPath& path) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  std::int64_t passes = 1;
  for (const EventLoop* loop : path) {
    if (__builtin_mul_overflow(passes, loop->turns, &passes) || passes > kMost) return {};
  }
  return passes;
}

LoopPath loopsOf(const TurnNumber& number, const LoopPath& path) {
  LoopPath result;
  for (const EventLoop* loop : path) {
    const bool is_used = std::ranges::any_of(
        number.steps, [loop](const auto& step) { return loop->owns(step.first); });
    if (is_used) result.push_back(loop);
  }
  return result;
}

WideNumber sumOverTurns(const TurnNumber& number, const LoopPath& path,
                        const TurnValues& at_first) {
  WideNumber passes = 1;
  for (const EventLoop* loop : path) passes *= loop->turns;
  WideNumber sum = passes * number.first;
  for (const auto& [place, factor] : number.steps) {
    for (const EventLoop* loop : path) {
      if (!loop->owns(place)) continue;
      const WideNumber steps =
          sumAt(*loop, place) - static_cast<WideNumber>(loop->turns) * at_first[place];
      sum += passes / loop->turns * steps * factor;
    }
  }
  return sum;
}

}  // namespace omnio::model
