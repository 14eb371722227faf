#include "predict/calibration/shared_area.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace omnio::predict {
namespace {

// Processes share it, so it is not a private one, as std::atomic::wait() makes.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout, nullptr,
          0);
}

}  // namespace

bool SharedArea::meet() {
  const std::uint32_t before = generation.load();
  if (arrived.fetch_add(1) + 1 == order.key.processes) {
    arrived.store(0);
    generation.fetch_add(1);
    futex(generation, FUTEX_WAKE, INT_MAX, nullptr);
    return !isOver();
  }
  // Those who wait only a little shall begin together; those who wait long shall not take a
  // processor from those that work. To yield in turns would cost a slice of all others on a busy
  // node.
  constexpr std::int64_t kSpinNs = 50'000;
  const std::int64_t begin = monotonicNs();
  while (generation.load() == before) {
    if (isOver()) return false;
    if (monotonicNs() - begin < kSpinNs) continue;
    const timespec pause{.tv_sec = 0, .tv_nsec = 50'000'000};
    futex(generation, FUTEX_WAIT, before, &pause);
  }
  return !isOver();
}

std::int64_t monotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace omnio::predict
