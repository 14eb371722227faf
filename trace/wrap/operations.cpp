#include "trace/wrap/operations.hpp"

#include "trace/runtime/moved_bytes.hpp"
#include "trace/wrap/polling.hpp"

namespace omnio::trace {
namespace {

// The block is the address of the control block; kBusy while the place changes hands.
struct OperationPlace {
  std::atomic<std::uintptr_t> block{0};
  AsyncOperation operation;
};
constexpr std::uintptr_t kBusy = 1;
constexpr std::size_t kOperationPlaces = 16384;
constexpr std::size_t kOperationProbes = 16;
OperationPlace operation_places[kOperationPlaces];
std::atomic<bool> has_operations{false};  // most processes never have any
std::atomic<std::uint64_t> operations{0};

std::uintptr_t addressOf(const void* block) { return reinterpret_cast<std::uintptr_t>(block); }

OperationPlace& placeAt(const void* block, std::size_t probe) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;  // Fibonacci hashing
  return operation_places[(static_cast<std::size_t>(addressOf(block) * kOdd >> 40) + probe) %
                          kOperationPlaces];
}

OperationPlace* findPlace(const void* block) {
  if (!has_operations.load(std::memory_order_relaxed) || block == nullptr) return nullptr;
  for (std::size_t i = 0; i < kOperationProbes; ++i) {
    OperationPlace& place = placeAt(block, i);
    if (place.block.load(std::memory_order_acquire) == addressOf(block)) return &place;
  }
  return nullptr;
}

bool isInMpi(const Thread& self) { return self.in_mpi || self.depth != 0; }

}  // namespace

bool addOperation(const void* block, AsyncOperation& operation) {
  if (!mayRecord(thread) || !isActive()) return false;
  operation.handle = find(operation.fd);
  if (!operation.handle.isTraced()) return false;
  AsyncOperation before;
  takeOutOperation(block, before);  // its end was never asked for
  has_operations.store(true, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kOperationProbes; ++i) {
    OperationPlace& place = placeAt(block, i);
    std::uintptr_t expected = 0;
    if (!place.block.compare_exchange_strong(expected, kBusy)) continue;
    process.works_unseen.store(true, std::memory_order_relaxed);
    operation.number = operations.fetch_add(1, std::memory_order_relaxed) + 1;
    place.operation = operation;
    place.block.store(addressOf(block), std::memory_order_release);
    return true;
  }
  countNotFollowed();
  return false;
}

bool isKnownOperation(const void* block) { return findPlace(block) != nullptr; }

bool takeOutOperation(const void* block, AsyncOperation& operation) {
  OperationPlace* const place = findPlace(block);
  if (place == nullptr) return false;
  std::uintptr_t expected = addressOf(block);
  if (!place->block.compare_exchange_strong(expected, kBusy)) return false;
  operation = place->operation;
  place->block.store(0, std::memory_order_release);
  return true;
}

void noteUnderWay(Thread& self, wire::EventTimes times) {
  const int error = errno;
  if (isInMpi(self)) {
    Thread::AsyncWait& wait = self.async_wait;
    const std::uint64_t events = eventsOf(self);
    const bool goes_on =
        wait.start != 0 && wait.mpi_call == self.mpi_calls && wait.events == events;
    if (!goes_on) wait = {.start = times.start, .mpi_call = self.mpi_calls, .events = events};
  } else {
    notePoll(self, times);
  }
  errno = error;
}

std::uint64_t startOfEnd(Thread& self, wire::EventTimes times) {
  if (!isInMpi(self)) return self.polling.start == 0 ? times.start : startOfWait(self, times);
  const Thread::AsyncWait wait = self.async_wait;
  self.async_wait = {};
  const bool is_of_this_call =
      wait.start != 0 && wait.mpi_call == self.mpi_calls && wait.events == eventsOf(self);
  return is_of_this_call ? wait.start : times.start;
}

}  // namespace omnio::trace
