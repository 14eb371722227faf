// The stacks that were seen in a process: found by a hash of their addresses without a lock, added
// by one thread at a time. What was added stays where it is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "core/wire/call_stack.hpp"
#include "core/wire/checksum.hpp"

namespace omnio::trace {

struct KnownStack {
  std::uint64_t hash = 0;
  std::uint32_t number = 0;
  std::uint32_t count = 0;
  std::atomic<bool> is_over{false};  // a module of it was unloaded: its addresses mean another now

  const wire::StackFrame* frames() const {
    return reinterpret_cast<const wire::StackFrame*>(this + 1);
  }
  wire::StackFrame* frames() { return reinterpret_cast<wire::StackFrame*>(this + 1); }
};

// Zeroed memory is an empty table: it is mapped by the kernel, and takes what is used of it.
template <std::uint32_t kSlots, std::size_t kBytes>
class StackTable {
 public:
  static constexpr std::uint32_t kMostStacks = kSlots / 4 * 3;
  static_assert((kSlots & (kSlots - 1)) == 0);

  // nullptr when it has no such stack. `hash` is not 0.
  const KnownStack* find(std::uint64_t hash) const {
    for (std::uint64_t at = hash;; ++at) {
      const std::uint32_t place = slots_[at % kSlots].load(std::memory_order_acquire);
      if (place == 0) return nullptr;
      const KnownStack* const stack = stackAt(place);
      if (stack->hash == hash && !stack->is_over.load(std::memory_order_relaxed)) return stack;
    }
  }

  // Adds one that it does not have; nullptr when the table is full.
  const KnownStack* add(std::uint64_t hash, const wire::StackFrame* frames, std::uint32_t count) {
    const std::size_t bytes = sizeof(KnownStack) + count * sizeof(wire::StackFrame);
    if (count_ == kMostStacks || bytes > kBytes - used_) return nullptr;
    auto* const stack = new (data_ + used_) KnownStack{.hash = hash, .count = count};
    std::memcpy(static_cast<void*>(stack->frames()), frames, count * sizeof(wire::StackFrame));
    stack->number = ++count_;
    const auto place = static_cast<std::uint32_t>(used_ / kUnit + 1);
    used_ += bytes;
    std::uint64_t at = hash;
    while (slots_[at % kSlots].load(std::memory_order_relaxed) != 0) ++at;
    slots_[at % kSlots].store(place, std::memory_order_release);
    return stack;
  }

  // The module was unloaded.
  void end(std::uint32_t module) {
    for (std::atomic<std::uint32_t>& slot : slots_) {
      const std::uint32_t place = slot.load(std::memory_order_relaxed);
      if (place == 0) continue;
      KnownStack* const stack = stackAt(place);
      for (std::uint32_t i = 0; i < stack->count; ++i) {
        if (stack->frames()[i].module == module) {
          stack->is_over.store(true, std::memory_order_relaxed);
        }
      }
    }
  }

 private:
  static constexpr std::size_t kUnit = alignof(KnownStack);
  static_assert(sizeof(KnownStack) % kUnit == 0 && sizeof(wire::StackFrame) % kUnit == 0);

  const KnownStack* stackAt(std::uint32_t place) const {
    return reinterpret_cast<const KnownStack*>(data_ + (place - 1) * kUnit);
  }
  KnownStack* stackAt(std::uint32_t place) {
    return reinterpret_cast<KnownStack*>(data_ + (place - 1) * kUnit);
  }

  std::uint32_t count_ = 0;
  std::size_t used_ = 0;
  std::atomic<std::uint32_t> slots_[kSlots] = {};
  alignas(KnownStack) unsigned char data_[kBytes];
};

// Addresses, without a lock for who looks: those where the walk ends.
template <std::uint32_t kSlots>
class AddressSet {
 public:
  bool isEmpty() const { return count_.load(std::memory_order_relaxed) == 0; }
  bool has(std::uintptr_t address) const {
    for (std::uintptr_t at = first(address);; ++at) {
      const std::uintptr_t there = slots_[at % kSlots].load(std::memory_order_relaxed);
      if (there == address) return true;
      if (there == 0) return false;
    }
  }
  // By one thread at a time; false when it is full. Another thread may have added it before.
  bool add(std::uintptr_t address) {
    if (has(address)) return true;
    if (count_.load(std::memory_order_relaxed) == kSlots / 4 * 3) return false;
    std::uintptr_t at = first(address);
    while (slots_[at % kSlots].load(std::memory_order_relaxed) != 0) ++at;
    slots_[at % kSlots].store(address, std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

 private:
  static_assert((kSlots & (kSlots - 1)) == 0);
  static std::uintptr_t first(std::uintptr_t address) { return address * wire::kGoldenStep >> 40; }

  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uintptr_t> slots_[kSlots] = {};
};

}  // namespace omnio::trace
