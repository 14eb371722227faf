// A lock for work that threads poll for. take() goes before tryToTake(), so threads that only look
// for messages do not keep one from sending. A pthread mutex will not do: the tracer records waits
// for mutexes, and a replay's trace must not contain the replayer's own waits.
#pragma once

#include <sched.h>

#include <atomic>

namespace omnio::replay {

class Turn {
 public:
  void take() {
    wanted_.fetch_add(1, std::memory_order_relaxed);
    while (is_taken_.test_and_set(std::memory_order_acquire)) sched_yield();
    wanted_.fetch_sub(1, std::memory_order_relaxed);
  }
  // False also where another thread waits for its turn.
  bool tryToTake() {
    if (wanted_.load(std::memory_order_relaxed) > 0) return false;
    return !is_taken_.test_and_set(std::memory_order_acquire);
  }
  void giveBack() { is_taken_.clear(std::memory_order_release); }

 private:
  std::atomic_flag is_taken_ = ATOMIC_FLAG_INIT;
  std::atomic<int> wanted_{0};
};

// Takes it, and gives it back at the end.
class OwnTurn {
 public:
  explicit OwnTurn(Turn& turn) : turn_(turn) { turn_.take(); }
  OwnTurn(const OwnTurn&) = delete;
  OwnTurn& operator=(const OwnTurn&) = delete;
  ~OwnTurn() { turn_.giveBack(); }

 private:
  Turn& turn_;
};

}  // namespace omnio::replay
