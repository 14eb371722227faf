// The clock of processes that run on this node: ticks of their records as CLOCK_MONOTONIC. All
// share the node's counter (core/wire/clock.hpp), so this process's own readings of it do for them.
// They get better as the time between the first and the last grows.
#pragma once

#include <cstdint>
#include <memory>

#include "core/tracefile/node_clock.hpp"
#include "core/wire/clock.hpp"

namespace omnio::prefetch {

inline std::int64_t nowNs() { return static_cast<std::int64_t>(wire::systemNs(CLOCK_MONOTONIC)); }

class LiveClock {
 public:
  explicit LiveClock(wire::ClockKind kind);

  // As it is known by now: read again where the last time is long ago.
  std::shared_ptr<const tracefile::NodeClock> now();

 private:
  void take();

  wire::ClockKind kind_;
  wire::Anchor first_;
  wire::Anchor last_;
  std::shared_ptr<const tracefile::NodeClock> clock_;
};

}  // namespace omnio::prefetch
