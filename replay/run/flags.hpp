// Operations wait for flags: one for each event that another thread waits for, raised with the
// time at which it ended. They lie in memory that all processes of a node share; between nodes they
// travel as messages (signals.hpp).
#pragma once
#include <atomic>
#include <cstdint>
#include <span>

#include "core/base/json_reader.hpp"

namespace omnio::replay {

// How a thread waits for others.
enum class WaitKind : std::uint8_t {
  kSpin,   // for a while, before it sleeps
  kYield,  // it lets others have the processor, and comes back
  kBlock,  // it sleeps until it is woken
};
inline constexpr base::Word<WaitKind> kWaitKinds[] = {
    {WaitKind::kSpin, "spin"}, {WaitKind::kYield, "yield"}, {WaitKind::kBlock, "block"}};

class Flags {
 public:
  // One word a flag, all 0 to begin with. Has to outlive the object.
  explicit Flags(std::span<std::atomic<std::int64_t>> words) : words_(words) {}
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;

  // `end_ns` since the beginning of the replay, not negative, below 2^61.
  void raise(std::uint32_t flag, std::int64_t end_ns);
  // Waits until it is raised; returns when the event ended.
  std::int64_t wait(std::uint32_t flag, WaitKind kind);
  bool isRaised(std::uint32_t flag) const;

 private:
  // A raised one is its time times 4, plus 2: no half of it looks like "awaited", so that whoever
  // watches one half sleeps without a time limit.
  static constexpr std::int64_t kDown = 0;
  static constexpr std::int64_t kAwaited = 1;
  static constexpr std::int64_t kRaised = 2;  // and above
  static constexpr std::int64_t kTimes = 4;

  std::span<std::atomic<std::int64_t>> words_;
};

}  // namespace omnio::replay
