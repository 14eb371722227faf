#include "trace/runtime/sys/scratch.hpp"

#include <sys/mman.h>

#include <atomic>
#include <bit>

#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {
namespace {

// By powers of two; of each size as many as threads may need at a time, at most. A block is in one
// of these places or in use: whoever exchanges it out of its place has it alone.
constexpr std::size_t kLeastBytes = 4096;
constexpr unsigned kSizes = 9;  // up to 1 MiB; larger ones are not kept
constexpr unsigned kEach = 4;

constinit std::atomic<void*> kept[kSizes][kEach] = {};

unsigned sizeOf(std::size_t bytes) {
  return static_cast<unsigned>(std::countr_zero(bytes) - std::countr_zero(kLeastBytes));
}

}  // namespace

ScratchBlock takeScratch(std::size_t bytes) {
  constexpr std::size_t kMost = ~std::size_t{0} / 4;
  if (bytes > kMost) return {};
  const std::size_t whole = std::bit_ceil(bytes < kLeastBytes ? kLeastBytes : bytes);
  if (sizeOf(whole) < kSizes) {
    for (std::atomic<void*>& place : kept[sizeOf(whole)]) {
      if (place.load(std::memory_order_relaxed) == nullptr) continue;
      if (void* memory = place.exchange(nullptr, std::memory_order_acquire)) return {memory, whole};
    }
  }
  void* const memory = mapAnonymous(whole);
  if (memory == nullptr) return {};
  return {memory, whole};
}

void giveScratchBack(ScratchBlock block) {
  if (sizeOf(block.bytes) < kSizes) {
    for (std::atomic<void*>& place : kept[sizeOf(block.bytes)]) {
      void* empty = nullptr;
      if (place.compare_exchange_strong(empty, block.memory, std::memory_order_release,
                                        std::memory_order_relaxed)) {
        return;
      }
    }
  }
  unmap(block.memory, block.bytes);
}

}  // namespace omnio::trace
