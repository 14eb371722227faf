// A table of facts about another library's objects, by their addresses, without bound or lock: a
// level with twice the places of the one before is added when all places for an object are taken,
// and none is ever taken away. Not for signal handlers: a place is never seen by the thread that is
// filling it.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/wire/checksum.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {

// `Value` is trivially copyable and starts as zeros. An object has one place at a time, and who
// takes it out is the one that the object belongs to, as MPI wants it of its objects.
template <typename Value, std::size_t kBuckets = 31>
class PointerTable {
 public:
  // Remembers the object by what `fill` makes of its place; false when memory runs out.
  template <typename Fill>
  bool put(const void* object, Fill fill) {
    for (unsigned level = 0; level < kLevels; ++level) {
      Bucket* const buckets = madeLevel(level);
      if (buckets == nullptr) return false;
      Bucket& bucket = buckets[placeOf(object, level)];
      for (std::size_t i = 0; i < kPlaces; ++i) {
        const void* expected = nullptr;
        if (!bucket.objects[i].compare_exchange_strong(expected, claimed())) continue;
        fill(bucket.values[i]);
        bucket.objects[i].store(object, std::memory_order_release);
        return true;
      }
    }
    return false;
  }

  // nullptr when the object is not known; else valid until it is taken out.
  Value* find(const void* object) {
    std::atomic<const void*>* place = nullptr;
    return locate(object, place);
  }

  // Forgets the object and returns its value; nothing when it was not known.
  std::optional<Value> take(const void* object) {
    return takeIf(object, [](const Value&) { return true; });
  }

  // The same unless its value is not the one that is meant: where an address is used again at once,
  // another thread may have put it in anew.
  template <typename IsMeant>
  std::optional<Value> takeIf(const void* object, IsMeant isMeant) {
    std::atomic<const void*>* place = nullptr;
    const Value* there = locate(object, place);
    if (there == nullptr || !isMeant(*there)) return {};
    const void* expected = object;
    if (!place->compare_exchange_strong(expected, claimed())) return {};
    const Value value = *there;
    const bool is_meant = isMeant(value);  // it may have changed hands before it was claimed
    place->store(is_meant ? nullptr : object, std::memory_order_release);
    if (!is_meant) return {};
    return value;
  }

 private:
  // An object may be in one bucket of each level, so that a look-up reads a line of each.
  static constexpr std::size_t kPlaces = 8;
  static constexpr unsigned kLevels = 24;
  struct Bucket {
    std::atomic<const void*> objects[kPlaces];
    Value values[kPlaces];
  };

  // Stands in a place that is being filled; no object is at this address.
  static const void* claimed() { return reinterpret_cast<const void*>(1); }

  static constexpr std::size_t bucketsOf(unsigned level) { return kBuckets << level; }

  static std::size_t placeOf(const void* object, unsigned level) {
    // Objects are at multiples of some power of two: all bits count.
    const std::uint64_t spread = reinterpret_cast<std::uintptr_t>(object) * wire::kGoldenStep;
    // That part of the buckets which these bits are of all they could be: a division takes longer.
    return static_cast<std::size_t>((spread >> 32) * bucketsOf(level) >> 32);
  }

  Bucket* levelThere(unsigned level) {
    return level == 0 ? first_ : more_[level - 1].load(std::memory_order_acquire);
  }

  Bucket* madeLevel(unsigned level) {
    return level == 0 ? first_ : mappedOnce(more_[level - 1], bucketsOf(level) * sizeof(Bucket));
  }

  Value* locate(const void* object, std::atomic<const void*>*& place) {
    for (unsigned level = 0; level < kLevels; ++level) {
      Bucket* const buckets = levelThere(level);
      if (buckets == nullptr) return nullptr;
      Bucket& bucket = buckets[placeOf(object, level)];
      for (std::size_t i = 0; i < kPlaces; ++i) {
        if (bucket.objects[i].load(std::memory_order_acquire) != object) continue;
        place = &bucket.objects[i];
        return &bucket.values[i];
      }
    }
    return nullptr;
  }

  Bucket first_[kBuckets]{};
  std::atomic<Bucket*> more_[kLevels - 1]{};
};

}  // namespace omnio::trace
