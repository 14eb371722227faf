#include "replay/plan/lanes.hpp"

#include <algorithm>
#include <numeric>

namespace omnio::replay {

Lanes lanesOf(std::span<const PlannedThread* const> threads) {
  std::vector<std::size_t> by_start(threads.size());
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  std::stable_sort(by_start.begin(), by_start.end(), [&](std::size_t a, std::size_t b) {
    return threads[a]->first_start_ns < threads[b]->first_start_ns;
  });
  Lanes lanes{.of_thread = std::vector<std::size_t>(threads.size()), .largest = {}};
  std::vector<std::int64_t> ends;  // by lane
  for (const std::size_t place : by_start) {
    const PlannedThread& thread = *threads[place];
    // The free lane that was in use last is the best one: its memory is still in the processor's
    // caches.
    std::size_t lane = ends.size();
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const bool is_free = ends[i] <= thread.first_start_ns;
      if (is_free && (lane == ends.size() || ends[i] > ends[lane])) lane = i;
    }
    if (lane == ends.size()) {
      ends.push_back(0);
      lanes.largest.emplace_back();
    }
    ends[lane] = std::max(ends[lane], thread.last_end_ns);
    lanes.largest[lane].include(thread);
    lanes.of_thread[place] = lane;
  }
  return lanes;
}

}  // namespace omnio::replay
