// The stacks that were seen in a process: found by a hash of their addresses without a lock, added
// by one thread at a time.
//
// A stack is over when a module in it was unloaded. Its memory is used again: for a stack of the
// same addresses, and when the table is full, for any. A search that meets such changes again and
// again is not sure, and whoever has the right to add looks once more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/wire/call_stack.hpp"
#include "core/wire/checksum.hpp"

namespace omnio::trace {

// A stack in the table. Numbers are never used again, so that the number is right for good.
struct KnownStack {
  std::uint32_t number = 0;   // 0: there is none
  std::uint32_t place = 0;    // of the stack in the table
  std::uint32_t version = 0;  // of the table, when it was there
  bool is_unsure = false;     // there is none, or the table was being changed

  explicit operator bool() const { return number != 0; }
};

// Zeroed memory is an empty table: it is mapped by the kernel, and takes what is used of it.
template <std::uint32_t kSlots, std::size_t kBytes>
class StackTable {
 public:
  static constexpr std::uint32_t kMostStacks = kSlots / 4 * 3;
  static_assert((kSlots & (kSlots - 1)) == 0);

  // None when the table has no such stack, or is being changed. `hash` is not 0.
  KnownStack find(std::uint64_t hash) const {
    constexpr int kTries = 4;
    for (int i = 0; i < kTries; ++i) {
      const KnownStack found = search(hash);
      if (isStill(found)) return found;
    }
    return {.is_unsure = true};
  }

  // Whether it has a stack of this hash that is over, whose place can be taken.
  bool hasOver(std::uint64_t hash) const {
    for (std::uint64_t at = hash;; ++at) {
      const std::uint32_t place = slots_[at % kSlots].load(std::memory_order_acquire);
      if (place == 0) return false;
      const Entry& entry = entryAt(place);
      if (load(entry.hash) == hash && load(entry.is_over) != 0) return true;
    }
  }

  // Copies the stack. False when its memory has been used again since it was found.
  bool copy(const KnownStack& stack, wire::StackDefinition& to) const {
    const Entry& entry = entryAt(stack.place);
    to.number = stack.number;
    to.count = load(entry.count);
    // While the table changes, anything may be there.
    const std::size_t at = (stack.place - 1) * kUnit;
    if (to.count > wire::kMostFrames || at + bytesOf(to.count) > kBytes) return false;
    const wire::StackFrame* const frames = framesOf(entry);
    for (std::uint32_t i = 0; i < to.count; ++i) {
      to.frames[i] = {.module = load(frames[i].module), .offset = load(frames[i].offset)};
    }
    return isStill(stack);
  }

  // The rest is for one thread at a time.

  // Adds one that it does not have; none when the table is full. A stack that is over is the same
  // as before when its modules are back where they were.
  KnownStack add(std::uint64_t hash, const wire::StackFrame* frames, std::uint32_t count) {
    if (const std::uint32_t place = overOf(hash, count); place != 0) {
      Entry& entry = entryAt(place);
      if (!hasFrames(entry, frames)) {
        const Change change(version_);
        put(entry, hash, frames, count);
      }
      store(entry.is_over, 0U);
      --over_;
      return known(place);
    }
    const std::size_t bytes = bytesOf(count);
    if (!hasRoom(bytes) && over_ > 0) compact();
    if (!hasRoom(bytes)) return {};
    const auto place = static_cast<std::uint32_t>(used_ / kUnit + 1);
    put(entryAt(place), hash, frames, count);
    used_ += bytes;
    ++count_;
    insert(hash, place);
    return known(place);
  }

  // Stacks are over that have a frame of which `is_gone(frame)` says so.
  template <typename IsGone>
  void end(IsGone is_gone) {
    forEach([&](Entry& entry) {
      if (entry.is_over != 0) return;
      const wire::StackFrame* const frames = framesOf(entry);
      for (std::uint32_t i = 0; i < entry.count; ++i) {
        if (!is_gone(frames[i])) continue;
        store(entry.is_over, 1U);
        ++over_;
        return;
      }
    });
  }

 private:
  // The frames come after it.
  struct Entry {
    std::uint64_t hash;
    std::uint32_t number;
    std::uint32_t count;
    std::uint64_t is_over;
  };
  static constexpr std::size_t kUnit = sizeof(std::uint64_t);
  static_assert(sizeof(Entry) % kUnit == 0 && sizeof(wire::StackFrame) % kUnit == 0);

  // An odd version says that memory which was in use is being changed.
  class Change {
   public:
    explicit Change(std::atomic<std::uint32_t>& version) : version_(version) {
      version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    ~Change() {
      version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }

   private:
    std::atomic<std::uint32_t>& version_;
  };

  // Each access to what a search may look at meanwhile comes before or after that of the version.
  template <typename T>
  static T load(const T& value) {
    return __atomic_load_n(&value, __ATOMIC_ACQUIRE);
  }
  template <typename T, typename V>
  static void store(T& to, V value) {
    __atomic_store_n(&to, static_cast<T>(value), __ATOMIC_RELEASE);
  }

  static constexpr std::size_t bytesOf(std::uint32_t count) {
    return sizeof(Entry) + count * sizeof(wire::StackFrame);
  }
  const Entry& entryAt(std::uint32_t place) const {
    return *reinterpret_cast<const Entry*>(data_ + (place - 1) * kUnit);
  }
  Entry& entryAt(std::uint32_t place) {
    return *reinterpret_cast<Entry*>(data_ + (place - 1) * kUnit);
  }
  static const wire::StackFrame* framesOf(const Entry& entry) {
    return reinterpret_cast<const wire::StackFrame*>(&entry + 1);
  }

  // Its result holds when it is still so.
  KnownStack search(std::uint64_t hash) const {
    const std::uint32_t version = version_.load(std::memory_order_acquire);
    for (std::uint64_t at = hash;; ++at) {
      const std::uint32_t place = slots_[at % kSlots].load(std::memory_order_acquire);
      if (place == 0) return {.version = version};
      const Entry& entry = entryAt(place);
      if (load(entry.hash) != hash || load(entry.is_over) != 0) continue;
      return {.number = load(entry.number), .place = place, .version = version};
    }
  }
  bool isStill(const KnownStack& stack) const {
    return (stack.version & 1) == 0 && version_.load(std::memory_order_acquire) == stack.version;
  }
  KnownStack known(std::uint32_t place) const {
    return {.number = entryAt(place).number,
            .place = place,
            .version = version_.load(std::memory_order_relaxed)};
  }
  bool hasRoom(std::size_t bytes) const {
    return count_ < kMostStacks && bytes <= kBytes - used_ && last_number_ < UINT32_MAX;
  }

  // With a new number.
  void put(Entry& entry, std::uint64_t hash, const wire::StackFrame* frames, std::uint32_t count) {
    store(entry.hash, hash);
    store(entry.number, ++last_number_);
    store(entry.count, count);
    store(entry.is_over, 0U);
    auto* const to = const_cast<wire::StackFrame*>(framesOf(entry));
    for (std::uint32_t i = 0; i < count; ++i) {
      store(to[i].module, frames[i].module);
      store(to[i].offset, frames[i].offset);
    }
  }

  void insert(std::uint64_t hash, std::uint32_t place) {
    std::uint64_t at = hash;
    while (slots_[at % kSlots].load(std::memory_order_relaxed) != 0) ++at;
    slots_[at % kSlots].store(place, std::memory_order_release);
  }

  std::uint32_t overOf(std::uint64_t hash, std::uint32_t count) const {
    for (std::uint64_t at = hash;; ++at) {
      const std::uint32_t place = slots_[at % kSlots].load(std::memory_order_relaxed);
      if (place == 0) return 0;
      const Entry& entry = entryAt(place);
      if (entry.hash == hash && entry.is_over != 0 && entry.count == count) return place;
    }
  }

  static bool hasFrames(const Entry& entry, const wire::StackFrame* frames) {
    for (std::uint32_t i = 0; i < entry.count; ++i) {
      if (framesOf(entry)[i] != frames[i]) return false;
    }
    return true;
  }

  // In the order of memory. The action may move the entry down.
  template <typename Action>
  void forEach(Action action) {
    for (std::size_t at = 0; at < used_;) {
      Entry& entry = entryAt(static_cast<std::uint32_t>(at / kUnit + 1));
      at += bytesOf(entry.count);
      action(entry);
    }
  }

  // Moves the stacks that are not over together. It touches all of the table, and is done at most
  // once after each end().
  void compact() {
    const Change change(version_);
    for (std::atomic<std::uint32_t>& slot : slots_) slot.store(0, std::memory_order_release);
    std::size_t used = 0;
    std::uint32_t count = 0;
    forEach([&](Entry& entry) {
      if (entry.is_over != 0) return;
      const std::uint64_t hash = entry.hash;
      const std::size_t bytes = bytesOf(entry.count);
      const auto* const from = reinterpret_cast<const std::uint64_t*>(&entry);
      auto* const to = reinterpret_cast<std::uint64_t*>(data_ + used);
      for (std::size_t i = 0; to != from && i < bytes / kUnit; ++i) store(to[i], from[i]);
      insert(hash, static_cast<std::uint32_t>(used / kUnit + 1));
      used += bytes;
      ++count;
    });
    used_ = used;
    count_ = count;
    over_ = 0;
  }

  std::atomic<std::uint32_t> version_{0};
  std::uint32_t last_number_ = 0;
  std::uint32_t count_ = 0;  // of the stacks in memory, with those that are over
  std::uint32_t over_ = 0;
  std::size_t used_ = 0;
  std::atomic<std::uint32_t> slots_[kSlots] = {};
  alignas(std::uint64_t) unsigned char data_[kBytes];
};

}  // namespace omnio::trace
