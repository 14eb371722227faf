// Places of a table that threads take one after the other, and never give back.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace omnio::trace {

template <std::uint32_t kMost>
class PlaceCount {
 public:
  // The next place; none when all are taken. The count is never above the places that there are,
  // not even for a moment: others go through the table up to it meanwhile.
  std::optional<std::uint32_t> take() {
    std::uint32_t place = taken_.load(std::memory_order_relaxed);
    while (place < kMost) {
      if (taken_.compare_exchange_weak(place, place + 1, std::memory_order_relaxed)) return place;
    }
    return std::nullopt;
  }
  std::uint32_t taken() const { return taken_.load(std::memory_order_acquire); }
  // In a process that has none of them any more.
  void forget() { taken_.store(0, std::memory_order_release); }

 private:
  std::atomic<std::uint32_t> taken_{0};
};

}  // namespace omnio::trace
