// Which turns of a loop a scaled schedule has, and where its events come to lie.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "preprocess/scale/recorded_schedule.hpp"

namespace omnio::preprocess::scale {

// The recorded turn that each turn of the scaled schedule is like. The recorded ones come first, in
// their order; then the last ones again and again.
class TurnPlan {
 public:
  // `period`: after how many turns the waits of all threads come again.
  TurnPlan(std::uint64_t recorded, std::uint64_t period);

  std::uint64_t sourceOf(std::uint64_t turn) const {
    return turn < recorded_ ? turn : recorded_ - cycle_ + (turn - recorded_) % cycle_;
  }

 private:
  std::uint64_t recorded_;
  std::uint64_t cycle_;
};

// An event of a thread: one outside of the time steps, or one in a turn of a loop.
struct PlaceInThread {
  static constexpr std::size_t kOutside = SIZE_MAX;
  std::size_t loop = kOutside;
  std::uint64_t turn = 0;
  std::uint64_t place = 0;  // in the turn; outside: among the recorded events of the thread
};

// One thread, as it was recorded and as it becomes.
class ThreadLayout {
 public:
  // `growth`: how many turns more each of the loops has then; negative: fewer.
  ThreadLayout(std::vector<TurnLoop> loops, std::uint64_t events, std::int64_t growth);

  const std::vector<TurnLoop>& loops() const { return loops_; }
  std::uint64_t scaledTurns(std::size_t loop) const {
    return loops_[loop].turns + static_cast<std::uint64_t>(growth_);
  }
  // How many events the scaled thread has.
  std::uint64_t scaledEvents() const { return indexOf({.place = events_}); }
  PlaceInThread locate(std::uint64_t event) const;
  // Which event of the scaled thread it is.
  std::uint64_t indexOf(const PlaceInThread& place) const;
  // How many loops end before the event outside of them.
  std::size_t loopsBefore(std::uint64_t event) const;

  // Events that make descriptors, in order: of each loop those of a turn.
  void addMaker(const PlaceInThread& place);
  std::uint64_t makersBefore(const PlaceInThread& place) const;
  std::uint64_t makers() const { return makersBefore({.place = events_}); }

 private:
  std::vector<TurnLoop> loops_;
  std::uint64_t events_;
  std::int64_t growth_;
  std::vector<std::uint64_t> outside_makers_;
  std::vector<std::vector<std::uint64_t>> loop_makers_;
};

}  // namespace omnio::preprocess::scale
