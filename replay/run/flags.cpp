#include "replay/run/flags.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

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

void Flags::raise(std::uint32_t flag, std::int64_t end_ns, std::int64_t on_time_ns) {
  std::atomic<std::int64_t>& word = words_[flag];
  if (!on_time_.empty()) on_time_[flag].store(on_time_ns, std::memory_order_relaxed);
  const std::int64_t before = word.exchange(end_ns * kTimes + kRaised, std::memory_order_acq_rel);
  // Not FUTEX_PRIVATE: other processes of the node wait too.
  if (before == kAwaited) {
    syscall(SYS_futex, watched(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
}

void Flags::raise(std::uint32_t flag, std::int64_t pass, RaisedEnd end) {
  if (!isLoopFlag(flag)) return raise(flag, end.end_ns, end.on_time_ns);
  std::atomic<std::int64_t>* const kept = passOf(flag, pass);
  // Whoever is told of a pass again, or of one long ago, leaves what is there. One at a time
  // writes.
  for (std::int64_t there = kept->load(std::memory_order_acquire); there <= pass;) {
    if (there < 0) {
      sched_yield();
      there = kept->load(std::memory_order_acquire);
    } else if (kept->compare_exchange_weak(there, -(pass + 1))) {
      // A reader that sees one of these stores has to see afterwards that they were under way: an
      // exchange does not keep later stores behind it on weakly ordered processors.
      std::atomic_thread_fence(std::memory_order_release);
      kept[1].store(end.end_ns, std::memory_order_relaxed);
      kept[2].store(end.recorded_end_ns, std::memory_order_relaxed);
      kept[3].store(end.on_time_ns, std::memory_order_relaxed);
      kept->store(pass + 1, std::memory_order_release);
      break;
    }
  }
  std::atomic<std::int64_t>& word = wordOf(flag);
  std::int64_t before = word.load(std::memory_order_acquire);
  while (before / kTimes <= pass &&
         !word.compare_exchange_weak(before, (pass + 1) * kTimes, std::memory_order_acq_rel)) {
  }
  if (before / kTimes <= pass && (before & kAwaited) != 0) {
    syscall(SYS_futex, watched(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
}

RaisedEnd Flags::wait(std::uint32_t flag, std::int64_t pass, WaitKind kind) {
  // A wait that lasts longer than this costs more than waking up does.
  constexpr std::int64_t kSpinBeforeSleepNs = kSpinNs / 5;
  std::atomic<std::int64_t>& word = wordOf(flag);
  std::int64_t value = word.load(std::memory_order_acquire);
  while (!isReached(flag, pass, value) && kind == WaitKind::kYield) {
    sched_yield();
    value = word.load(std::memory_order_acquire);
  }
  if (!isReached(flag, pass, value) && kind == WaitKind::kSpin) {
    const std::int64_t until = nowNs() + kSpinBeforeSleepNs;
    do {
      for (int i = 0; i < 32; ++i) pauseBriefly();
      value = word.load(std::memory_order_acquire);
    } while (!isReached(flag, pass, value) && nowNs() < until);
  }
  while (!isReached(flag, pass, value)) {
    const std::int64_t awaited = value | kAwaited;
    if (value != awaited && !word.compare_exchange_strong(value, awaited)) continue;
    syscall(SYS_futex, watched(word), FUTEX_WAIT, static_cast<std::uint32_t>(awaited), nullptr,
            nullptr, 0);
    value = word.load(std::memory_order_acquire);
  }
  if (!isLoopFlag(flag)) {
    return {.end_ns = value / kTimes,
            .on_time_ns = on_time_.empty() ? 0 : on_time_[flag].load(std::memory_order_relaxed)};
  }
  std::atomic<std::int64_t>* const kept = passOf(flag, pass);
  while (true) {
    const std::int64_t there = kept->load(std::memory_order_acquire);
    if (std::abs(there) > pass + 1) return {};
    if (there == pass + 1) {
      const RaisedEnd end{.end_ns = kept[1].load(std::memory_order_relaxed),
                          .recorded_end_ns = kept[2].load(std::memory_order_relaxed),
                          .on_time_ns = kept[3].load(std::memory_order_relaxed)};
      std::atomic_thread_fence(std::memory_order_acquire);
      if (kept->load(std::memory_order_relaxed) == there) return end;
    }
    pauseBriefly();
  }
}

}  // namespace omnio::replay
