#include "preprocess/scale/steps/turn_plan.hpp"

#include <algorithm>
#include <utility>

namespace omnio::preprocess::scale {
namespace {

std::uint64_t countBelow(const std::vector<std::uint64_t>& sorted, std::uint64_t limit) {
  return static_cast<std::uint64_t>(std::ranges::lower_bound(sorted, limit) - sorted.begin());
}

// The first turns lack what later ones have: waits for the turn before.
constexpr std::uint64_t kFirstTurns = 2;

}  // namespace

TurnPlan::TurnPlan(std::uint64_t recorded, std::uint64_t period) : recorded_(recorded), cycle_(1) {
  const std::uint64_t usual = recorded > kFirstTurns ? recorded - kFirstTurns : 1;
  cycle_ = period >= 1 && period <= usual ? usual / period * period : usual;
}

ThreadLayout::ThreadLayout(std::vector<TurnLoop> loops, std::uint64_t events, std::int64_t growth)
    : loops_(std::move(loops)), events_(events), growth_(growth), loop_makers_(loops_.size()) {}

std::size_t ThreadLayout::loopsBefore(std::uint64_t event) const {
  std::size_t before = 0;
  while (before < loops_.size() && loops_[before].end() <= event) ++before;
  return before;
}

PlaceInThread ThreadLayout::locate(std::uint64_t event) const {
  const std::size_t before = loopsBefore(event);
  if (before == loops_.size() || event < loops_[before].begin) return {.place = event};
  const TurnLoop& loop = loops_[before];
  return {.loop = before,
          .turn = (event - loop.begin) / loop.in_turn,
          .place = (event - loop.begin) % loop.in_turn};
}

std::uint64_t ThreadLayout::indexOf(const PlaceInThread& place) const {
  const bool is_outside = place.loop == PlaceInThread::kOutside;
  const std::size_t before = is_outside ? loopsBefore(place.place) : place.loop;
  // Unsigned sums come out right where there are fewer turns.
  std::uint64_t index = is_outside ? place.place : loops_[before].begin;
  for (std::size_t i = 0; i < before; ++i) {
    index += loops_[i].in_turn * static_cast<std::uint64_t>(growth_);
  }
  return is_outside ? index : index + place.turn * loops_[before].in_turn + place.place;
}

void ThreadLayout::addMaker(const PlaceInThread& place) {
  if (place.loop == PlaceInThread::kOutside) {
    outside_makers_.push_back(place.place);
  } else if (place.turn == 0) {
    loop_makers_[place.loop].push_back(place.place);
  }
}

std::uint64_t ThreadLayout::makersBefore(const PlaceInThread& place) const {
  const bool is_outside = place.loop == PlaceInThread::kOutside;
  const std::size_t before = is_outside ? loopsBefore(place.place) : place.loop;
  std::uint64_t makers =
      countBelow(outside_makers_, is_outside ? place.place : loops_[before].begin);
  for (std::size_t i = 0; i < before; ++i) makers += loop_makers_[i].size() * scaledTurns(i);
  if (is_outside) return makers;
  return makers + place.turn * loop_makers_[before].size() +
         countBelow(loop_makers_[before], place.place);
}

}  // namespace omnio::preprocess::scale
