// How much of a thread's time between its calls it had a processor, as far as the tracer looked.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace omnio::event {

// A tracer looks at a few of the times between two calls. Among them long ones are not as frequent
// as in the whole (the first, in which a program fills its memory, is always looked at), so each
// stands for the times of about its length: those are kept apart by powers of 4. Times far from all
// that were looked at do not count, nor do those of less than 16 us, as nothing sleeps for so
// short.
//
// All times are ns. Sums are floating-point numbers: a damaged log may hold any.
class ThinkTime {
 public:
  // A time between two calls of the thread; negative ones are none.
  void pass(std::int64_t ns);
  // One that the tracer looked at, and how long of it the thread had a processor.
  void look(std::int64_t wall_ns, std::int64_t cpu_ns);
  // Another log of the thread. One in which no time was looked at (that of a signal handler) does
  // not count.
  ThinkTime& operator+=(const ThinkTime& other);

  // The part of the time in which it had a processor: 0 to 1. Nothing where none was looked at.
  std::optional<double> computing() const;

 private:
  struct Stratum {
    double passed_ns = 0;
    double looked_ns = 0;
    double cpu_ns = 0;
  };
  Stratum& stratumOf(std::int64_t ns);
  // The CPU share of the stratum. A stratum without looks takes that of its two neighbours; nothing
  // where they have none either.
  std::optional<double> shareOf(std::size_t stratum) const;

  bool is_known_ = false;
  std::array<Stratum, 32> strata_{};
};

}  // namespace omnio::event
