#include "prefetch/live_clock.hpp"

#include <unistd.h>

namespace omnio::prefetch {
namespace {

// Anchors are some 100 ns apart from the truth: 1 part in 100,000.
constexpr useconds_t kFirstWaitUs = 10'000;
constexpr std::uint64_t kGoodForNs = 1'000'000'000;

}  // namespace

LiveClock::LiveClock(wire::ClockKind kind) : kind_(kind), first_(wire::takeAnchor(kind)) {
  usleep(kFirstWaitUs);
  take();
}

void LiveClock::take() {
  last_ = wire::takeAnchor(kind_);
  auto clock = std::make_shared<tracefile::NodeClock>();
  clock->add(first_.ticks, first_.monotonic_ns);
  clock->add(last_.ticks, last_.monotonic_ns);
  clock->finish({});
  clock_ = std::move(clock);
}

std::shared_ptr<const tracefile::NodeClock> LiveClock::now() {
  if (wire::systemNs(CLOCK_MONOTONIC) - last_.monotonic_ns > kGoodForNs) take();
  return clock_;
}

}  // namespace omnio::prefetch
