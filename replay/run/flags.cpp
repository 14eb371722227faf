#include "replay/run/flags.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "replay/issue/backend.hpp"
#include "replay/run/sleeper.hpp"

namespace omnio::replay {
namespace {

static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// The kernel watches 32 bits: those that tell "awaited" from "down".
std::uint32_t* watched(std::atomic<std::int64_t>& word) {
  auto* halves = reinterpret_cast<std::uint32_t*>(&word);
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? halves : halves + 1;
}

}  // namespace

void Flags::raise(std::uint32_t flag, std::int64_t end_ns) {
  std::atomic<std::int64_t>& word = words_[flag];
  const std::int64_t before = word.exchange(end_ns * kTimes + kRaised, std::memory_order_acq_rel);
  // Not FUTEX_PRIVATE: other processes of the node wait too.
  if (before == kAwaited) {
    syscall(SYS_futex, watched(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
}

bool Flags::isRaised(std::uint32_t flag) const {
  return words_[flag].load(std::memory_order_acquire) >= kRaised;
}

std::int64_t Flags::wait(std::uint32_t flag, WaitKind kind) {
  // A wait that lasts longer than this costs more than waking up does.
  constexpr std::int64_t kSpinBeforeSleepNs = kSpinNs / 5;
  std::atomic<std::int64_t>& word = words_[flag];
  std::int64_t value = word.load(std::memory_order_acquire);
  while (value < kRaised && kind == WaitKind::kYield) {
    sched_yield();
    value = word.load(std::memory_order_acquire);
  }
  if (value < kRaised && kind == WaitKind::kSpin) {
    const std::int64_t until = nowNs() + kSpinBeforeSleepNs;
    do {
      for (int i = 0; i < 32; ++i) pauseBriefly();
      value = word.load(std::memory_order_acquire);
    } while (value < kRaised && nowNs() < until);
  }
  while (value < kRaised) {
    if (value == kDown && !word.compare_exchange_strong(value, kAwaited)) continue;
    syscall(SYS_futex, watched(word), FUTEX_WAIT, static_cast<std::uint32_t>(kAwaited), nullptr,
            nullptr, 0);
    value = word.load(std::memory_order_acquire);
  }
  return value / kTimes;
}

}  // namespace omnio::replay
