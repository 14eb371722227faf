#include "trace/wrap/polling.hpp"

#include <utility>

#include "core/wire/clock.hpp"
#include "trace/wrap/think_sample.hpp"

namespace omnio::trace {
namespace {

// Below that, what the thread did in between does not matter enough to ask for its CPU time.
constexpr double kShortNs = 20'000;
// Between two tests, on average: a loop that does nothing else takes less, with the recorder's part
// of it.
constexpr double kLoopNs = 1000;

}  // namespace

void notePoll(Thread& self, wire::EventTimes times) {
  Polling& polling = self.polling;
  const std::uint64_t events = eventsOf(self);
  if (polling.start == 0 || polling.events != events) {
    polling = {.start = times.start,
               .first_end = times.end,
               .inside = 0,
               .count = 1,
               .events = events,
               .wall_ns = wire::systemNs(CLOCK_MONOTONIC),
               .cpu_ns = threadCpuNs()};
    return;
  }
  polling.inside += times.end - times.start;
  ++polling.count;
}

std::uint64_t startOfWait(Thread& self, wire::EventTimes times) {
  const Polling polling = std::exchange(self.polling, Polling{});
  if (polling.start == 0 || polling.events != eventsOf(self)) return times.start;
  if (times.end <= polling.first_end) return times.start;
  const auto wall = static_cast<double>(wire::systemNs(CLOCK_MONOTONIC) - polling.wall_ns);
  const double ns_per_tick = wall / static_cast<double>(times.end - polling.first_end);
  const double whole = static_cast<double>(times.end - polling.start) * ns_per_tick;
  if (whole < kShortNs) return times.start;
  const double inside =
      static_cast<double>(polling.inside + (times.end - times.start)) * ns_per_tick;
  const double between = wall - inside;
  if (between < kLoopNs * static_cast<double>(polling.count)) return polling.start;
  // The CPU time of a thread that lets others have the core inside of tests is that in between.
  const auto used = static_cast<double>(threadCpuNs() - polling.cpu_ns);
  const double computed = used < between ? used : between;
  return computed < whole / 2 ? polling.start : times.start;
}

}  // namespace omnio::trace
