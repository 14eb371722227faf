// The rules of the places that walks came by: found without a lock, added by one thread at a time.
//
// A key is a return address, or an address in the code where a signal handler interrupted it: there
// the instruction at the address itself was under way, and not the one before.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/wire/checksum.hpp"
#include "trace/runtime/stack/unwind_rule.hpp"

namespace omnio::trace {

using RuleKey = std::uintptr_t;  // never 0
// No address of a program has this bit.
inline constexpr RuleKey kInterrupted = RuleKey{1} << 63;
constexpr std::uintptr_t addressOf(RuleKey key) { return key & ~kInterrupted; }
constexpr bool isInterrupted(RuleKey key) { return (key & kInterrupted) != 0; }

// Zeroed memory is an empty cache.
template <std::uint32_t kSlots>
class RuleCache {
 public:
  static constexpr std::uint32_t kMostRules = kSlots / 4 * 3;
  // Signals may interrupt anywhere: such places have no more than this part of the room.
  static constexpr std::uint32_t kMostInterrupted = kSlots / 16;

  // A version is odd while rules are removed. What was found is right when the version was even
  // before, and is still the same.
  std::uint32_t version() const { return version_.load(std::memory_order_acquire); }

  // Not known: no such rule. kOutermost for an interrupted place when there
  // is room for no more of them.
  [[gnu::always_inline]] inline UnwindRule find(RuleKey key) const {
    for (std::uint64_t at = home(key);; ++at) {
      const Slot& slot = slots_[at % kSlots];
      const RuleKey there = slot.key.load(std::memory_order_acquire);
      if (there == key) [[likely]]
        return UnwindRule(slot.rule.load(std::memory_order_acquire));
      if (there == 0) return missing(key);
    }
  }

  // The rest is for one thread at a time.

  // Adds or replaces the rule; false when it finds no room.
  bool put(RuleKey key, UnwindRule rule) {
    std::uint64_t at = home(key);
    for (;; ++at) {
      const RuleKey there = slots_[at % kSlots].key.load(std::memory_order_relaxed);
      if (there == 0) break;
      if (there != key) continue;
      slots_[at % kSlots].rule.store(rule.word(), std::memory_order_release);
      return true;
    }
    if (count_ == kMostRules) return false;
    if (isInterrupted(key)) {
      const std::uint32_t others = interrupted_.load(std::memory_order_relaxed);
      if (others == kMostInterrupted) return false;
      interrupted_.store(others + 1, std::memory_order_relaxed);
    }
    ++count_;
    Slot& slot = slots_[at % kSlots];
    slot.rule.store(rule.word(), std::memory_order_relaxed);
    slot.key.store(key, std::memory_order_release);
    return true;
  }

  // Removes those of whose address `is_gone(address)` says so.
  template <typename IsGone>
  void removeIf(IsGone is_gone) {
    bool has_begun = false;
    for (std::uint32_t at = 0; at < kSlots && count_ > 0; ++at) {
      // Another may have come in its place.
      while (true) {
        const RuleKey there = slots_[at].key.load(std::memory_order_relaxed);
        if (there == 0 || !is_gone(addressOf(there))) break;
        if (!has_begun) version_.store(version_.load(std::memory_order_relaxed) + 1);
        has_begun = true;
        if (isInterrupted(there)) interrupted_.fetch_sub(1, std::memory_order_relaxed);
        remove(at);
      }
    }
    if (has_begun) version_.store(version_.load(std::memory_order_relaxed) + 1);
  }

 private:
  struct Slot {
    std::atomic<RuleKey> key;
    std::atomic<std::uint64_t> rule;
  };
  static_assert((kSlots & (kSlots - 1)) == 0);

  static std::uint64_t home(RuleKey key) { return key * wire::kGoldenStep >> 40; }

  UnwindRule missing(RuleKey key) const {
    const bool has_room =
        !isInterrupted(key) || interrupted_.load(std::memory_order_relaxed) < kMostInterrupted;
    return has_room ? UnwindRule() : UnwindRule::of(UnwindRule::Kind::kOutermost);
  }

  // Fills the hole with those after it that are not found otherwise.
  void remove(std::uint32_t hole) {
    for (std::uint32_t at = hole + 1;; ++at) {
      const Slot& slot = slots_[at % kSlots];
      const RuleKey there = slot.key.load(std::memory_order_relaxed);
      if (there == 0) break;
      const auto first = static_cast<std::uint32_t>(home(there) % kSlots);
      if ((at - first) % kSlots < at - hole) continue;
      Slot& to = slots_[hole % kSlots];
      to.rule.store(slot.rule.load(std::memory_order_relaxed), std::memory_order_release);
      to.key.store(there, std::memory_order_release);
      hole = at;
    }
    slots_[hole % kSlots].key.store(0, std::memory_order_release);
    --count_;
  }

  std::atomic<std::uint32_t> version_{0};
  std::uint32_t count_ = 0;
  std::atomic<std::uint32_t> interrupted_{0};
  alignas(64) Slot slots_[kSlots];
};

}  // namespace omnio::trace
