// The numbers in a loop over the time steps, by place in a turn, and how they go on.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/pattern/number_series.hpp"
#include "preprocess/scale/recorded_schedule.hpp"
#include "preprocess/scale/steps/turn_plan.hpp"

namespace omnio::preprocess::scale {

class LoopNumbers {
 public:
  // Reads the loop of the thread; `layouts` are those of all threads.
  LoopNumbers(RecordedSchedule& schedule, const std::vector<ThreadLayout>& layouts,
              std::uint32_t thread, std::size_t loop);

  struct Place {
    std::uint32_t kind = 0;
    bool has_id = false;
    std::vector<pattern::NumberSeries> numbers;
  };
  const std::vector<Place>& places() const { return places_; }
  // Where a recorded turn begins in the spool.
  std::uint64_t spooled(std::uint64_t turn) const { return spooled_[turn]; }
  // After how many turns what is waited for comes again; 0: not regular.
  std::uint64_t period() const { return period_; }
  // Turns of the place wait for the same event, or use the same descriptor, again and again: not
  // for one as many turns before. By the id, and by the index among the numbers.
  bool waitsForSame(std::size_t place, std::uint64_t id) const {
    return same_events_.contains({place, id});
  }
  bool usesSame(std::size_t place, std::size_t number) const {
    return same_descriptors_.contains({place, number});
  }

 private:
  struct Previous {
    std::vector<std::uint64_t> waits;
    std::vector<std::int64_t> descriptors;  // by number
  };
  void take(RecordedSchedule& schedule, const EventRecord& event, std::size_t place,
            Previous& previous);

  std::vector<Place> places_;
  std::vector<std::uint64_t> spooled_;
  std::uint64_t period_ = 0;
  std::set<std::pair<std::size_t, std::uint64_t>> same_events_;
  std::set<std::pair<std::size_t, std::size_t>> same_descriptors_;
};

}  // namespace omnio::preprocess::scale
