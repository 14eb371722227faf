#include "trace/runtime/mpi_files.hpp"

#include <sys/mman.h>

#include "trace/runtime/raw_syscall.hpp"

namespace omnio::trace {
namespace {

struct Slot {
  std::atomic<const void*> file{nullptr};
  std::atomic<std::uint64_t> entry{0};
};

// Stands in a slot that is being filled; no MPI_File is at this address.
const void* const kClaimed = reinterpret_cast<const void*>(1);

// A file may be in one bucket of each node, so that a look-up reads a line or two of each.
constexpr std::size_t kBuckets = 31;
constexpr std::size_t kSlotsInBucket = 8;

struct Node {
  Slot slots[kBuckets][kSlotsInBucket];
  std::atomic<Node*> next{nullptr};
};
constinit Node first_node;

std::size_t bucketOf(const void* file) {
  // Objects of the MPI library are hundreds of bytes apart.
  return (reinterpret_cast<std::uintptr_t>(file) >> 4) % kBuckets;
}

Slot* slotOf(const void* file) {
  for (Node* node = &first_node; node != nullptr; node = node->next.load()) {
    for (Slot& slot : node->slots[bucketOf(file)]) {
      if (slot.file.load(std::memory_order_acquire) == file) return &slot;
    }
  }
  return nullptr;
}

Node* nodeBehind(Node& node) {
  Node* next = node.next.load();
  if (next != nullptr) return next;
  const long memory = rawSyscall(SYS_mmap, 0, sizeof(Node), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory < 0 && memory > -4096) return nullptr;
  auto* fresh = reinterpret_cast<Node*>(memory);
  if (node.next.compare_exchange_strong(next, fresh)) return fresh;
  rawSyscall(SYS_munmap, memory, sizeof(Node));
  return next;
}

}  // namespace

void rememberMpiFile(const void* file, Entry entry) {
  releaseHandle(takeMpiFile(file));
  for (Node* node = &first_node; node != nullptr; node = nodeBehind(*node)) {
    for (Slot& slot : node->slots[bucketOf(file)]) {
      const void* expected = nullptr;
      if (!slot.file.compare_exchange_strong(expected, kClaimed)) continue;
      slot.entry.store(entry.word(), std::memory_order_relaxed);
      slot.file.store(file, std::memory_order_release);
      return;
    }
  }
}

Entry findMpiFile(const void* file) {
  const Slot* slot = slotOf(file);
  return slot == nullptr ? Entry::notTraced() : Entry(slot->entry.load(std::memory_order_acquire));
}

Entry takeMpiFile(const void* file) {
  Slot* slot = slotOf(file);
  if (slot == nullptr) return Entry::notTraced();
  const Entry entry(slot->entry.load(std::memory_order_acquire));
  slot->file.store(nullptr, std::memory_order_release);
  return entry;
}

}  // namespace omnio::trace
