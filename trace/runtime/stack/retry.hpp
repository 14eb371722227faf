// When to try again what has failed: it may fail for good, and takes time each time.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/wire/clock.hpp"

namespace omnio::trace {

// Zeroed memory has not failed.
class Retry {
 public:
  bool isDue() const {
    const std::uint64_t due = due_ns_.load(std::memory_order_relaxed);
    return due == 0 || wire::systemNs(CLOCK_MONOTONIC) >= due;
  }
  void note(bool has_worked) {
    constexpr std::uint64_t kBetweenNs = 1'000'000'000;
    due_ns_.store(has_worked ? 0 : wire::systemNs(CLOCK_MONOTONIC) + kBetweenNs,
                  std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> due_ns_{0};
};

}  // namespace omnio::trace
