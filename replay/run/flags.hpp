// Operations wait for flags: one for each event that another thread waits for, raised with the
// time at which it ended; or one for each line of a loop, which is raised in each pass. They lie in
// memory that all processes of a node share; between nodes they
// travel as messages (signals.hpp).
#pragma once
#include <atomic>
#include <cstdint>
#include <span>

#include "core/base/json_reader.hpp"
#include "replay/plan/flag_numbers.hpp"

namespace omnio::replay {

// How a thread waits for others.
enum class WaitKind : std::uint8_t {
  kSpin,   // for a while, before it sleeps
  kYield,  // it lets others have the processor, and comes back
  kBlock,  // it sleeps until it is woken
};
inline constexpr base::Word<WaitKind> kWaitKinds[] = {
    {WaitKind::kSpin, "spin"}, {WaitKind::kYield, "yield"}, {WaitKind::kBlock, "block"}};

// In ns since the beginning of the run, replayed and recorded.
struct RaisedEnd {
  std::int64_t end_ns = 0;
  std::int64_t recorded_end_ns = 0;  // of a loop's flag; else 0
  std::int64_t on_time_ns = 0;       // the end on time (pacing.hpp)
};

class Flags {
 public:
  // The words that so many flags take, all 0 to begin with. Without ends on time, those that
  // wait() returns are 0 for flags that are not of loops.
  static constexpr std::size_t words(std::size_t flags, std::size_t loop_flags,
                                     bool has_on_time = false) {
    return flags + loop_flags * kLoopWords + (has_on_time ? flags : 0);
  }
  // The words have to outlive the object. Without `flags`, there are no flags of loops.
  explicit Flags(std::span<std::atomic<std::int64_t>> words) : Flags(words, words.size()) {}
  Flags(std::span<std::atomic<std::int64_t>> words, std::size_t flags, bool has_on_time = false)
      : words_(words), flags_(flags), on_time_(words.last(has_on_time ? flags : 0)) {}
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;

  // `end_ns` since the beginning of the replay, not negative, below 2^61.
  void raise(std::uint32_t flag, std::int64_t end_ns, std::int64_t on_time_ns = 0);
  // The same in a pass, from 0. Passes may be told out of order, and more than once.
  void raise(std::uint32_t flag, std::int64_t pass, RaisedEnd end);
  // Waits until it is raised; returns when the event ended.
  std::int64_t wait(std::uint32_t flag, WaitKind kind) { return wait(flag, 0, kind).end_ns; }
  // The same of a pass. Where that was long ago, the ends are 0.
  RaisedEnd wait(std::uint32_t flag, std::int64_t pass, WaitKind kind);
  bool isRaised(std::uint32_t flag, std::int64_t pass = 0) const {
    return isReached(flag, pass, wordOf(flag).load(std::memory_order_acquire));
  }

 private:
  // A raised one is its time times 4, plus 2: no half of it looks like "awaited", so that whoever
  // watches one half sleeps without a time limit.
  static constexpr std::int64_t kDown = 0;
  static constexpr std::int64_t kAwaited = 1;
  static constexpr std::int64_t kRaised = 2;  // and above
  static constexpr std::int64_t kTimes = 4;

  // The flag of a loop: a word of how often it was raised, times 4, plus 1 when it is awaited; and
  // the last passes, each with its number plus 1 (negative while it is written) and the ends.
  static constexpr std::int64_t kKept = 64;
  static constexpr std::size_t kPassWords = 4;
  static constexpr std::size_t kLoopWords = 1 + kKept * kPassWords;

  std::size_t placeOf(std::uint32_t flag) const {
    return isLoopFlag(flag) ? flags_ + (flag - kFirstLoopFlag) * kLoopWords : flag;
  }
  std::atomic<std::int64_t>& wordOf(std::uint32_t flag) const { return words_[placeOf(flag)]; }
  static bool isReached(std::uint32_t flag, std::int64_t pass, std::int64_t word) {
    return isLoopFlag(flag) ? word / kTimes > pass : word >= kRaised;
  }
  std::atomic<std::int64_t>* passOf(std::uint32_t flag, std::int64_t pass) const {
    return &words_[placeOf(flag) + 1 + static_cast<std::size_t>(pass % kKept) * kPassWords];
  }

  std::span<std::atomic<std::int64_t>> words_;
  std::size_t flags_ = 0;
  std::span<std::atomic<std::int64_t>> on_time_;  // by flag; empty without ends on time
};

}  // namespace omnio::replay
