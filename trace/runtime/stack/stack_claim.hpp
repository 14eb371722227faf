// Who may add to what is known of stacks: one thread at a time.
#pragma once

#include <atomic>

#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/log_helper.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/waiting.hpp"

namespace omnio::trace {

// The right to do so, with signals held. Not given when its holder does not go on: that is waited
// for once, and only briefly where events are dropped rather than waited for.
class StackClaim {
 public:
  // `waits`: also where events are dropped.
  explicit StackClaim(bool waits = false) : is_ours_(take(waits)) {}
  ~StackClaim() {
    if (is_ours_) is_claimed_.store(false, std::memory_order_release);
  }
  StackClaim(const StackClaim&) = delete;
  StackClaim& operator=(const StackClaim&) = delete;
  explicit operator bool() const { return is_ours_; }

  // In a forked child no thread has it.
  static void forget() {
    is_claimed_.store(false);
    is_stuck_.store(false);
  }

 private:
  static bool take(bool waits) {
    const auto isTaken = [] { return is_claimed_.exchange(true, std::memory_order_acquire); };
    bool is_ours = !isTaken();
    if (!is_ours) {
      const bool drops = LogHelper::dropsEvents();
      // Where events are dropped, it has not been waited for long.
      const bool waits_anew = waits && drops;
      if (is_stuck_.load(std::memory_order_relaxed) && !waits_anew) return false;
      is_ours = drops && !waits ? yieldWhile(isTaken) : waitWhile(isTaken);
    }
    is_stuck_.store(!is_ours, std::memory_order_relaxed);
    return is_ours;
  }
  template <typename IsBusy>
  static bool yieldWhile(IsBusy is_busy) {
    constexpr int kYields = 100;
    for (int i = 0; i < kYields; ++i) {
      rawSyscall(SYS_sched_yield);
      if (!is_busy()) return true;
    }
    return false;
  }

  inline static constinit std::atomic<bool> is_claimed_{false};
  // It was waited for in vain, and has not been given since.
  inline static constinit std::atomic<bool> is_stuck_{false};

  const HeldSignals held_{};
  const bool is_ours_;
};

}  // namespace omnio::trace
