// A clock that is wrong on purpose, for tests of what readers make of nodes whose clocks differ:
// drift cannot be had otherwise where two nodes are one machine.
#pragma once

#include <cstdint>

namespace omnio::trace {

struct TestClock {
  std::int64_t ahead_ns = 0;
  std::int64_t fast_ppm = 0;  // against CLOCK_MONOTONIC, from its beginning
  char text[48] = {};         // as it was given; empty: the clocks are as they are

  bool isSet() const { return text[0] != '\0'; }
};

// The value of wire::kTestClockVariable; one that means nothing is not set.
TestClock parseTestClock(const char* text);

// From now on wire::systemNs() reads so. After useKernelClocks(), and before the first reading.
void useTestClock(const TestClock& clock);

}  // namespace omnio::trace
