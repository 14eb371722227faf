// What the programs share that make calls in a plain loop, to measure replays against.
#pragma once

#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace omnio::bench {

// CLOCK_MONOTONIC, in ns.
inline std::int64_t nowNs() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

// Prints the reason in errno, and ends the program with status 1.
[[noreturn]] inline void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

}  // namespace omnio::bench
