// Sees the calls of ranks while statistics are made of them, so that a trace is read once for both.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>

#include "core/event/event.hpp"
#include "core/order/io_waits.hpp"
#include "statistics/rank_events.hpp"

namespace omnio::stats {

// Serves one worker, which reads some of the ranks.
class RankObserver {
 public:
  RankObserver() = default;
  RankObserver(const RankObserver&) = delete;
  RankObserver& operator=(const RankObserver&) = delete;
  virtual ~RankObserver() = default;

  // Calls of a rank follow: of that place among those of byRank().
  virtual void beginRank(std::size_t place, const RankEvents& events) = 0;
  // Each call in the order of time, also one that is not selected.
  virtual void take(const event::Event& event, const RankEvents& events, bool is_selected) = 0;
  virtual void endRank() = 0;
};

struct Observers {
  // Makes one for a worker. `waits` is null where no rank can have waited for others; it outlives
  // the observer.
  std::function<std::unique_ptr<RankObserver>(const order::IoWaits* waits)> make = {};
  // Takes what one found, one at a time.
  std::function<void(RankObserver&)> collect = {};
};

}  // namespace omnio::stats
