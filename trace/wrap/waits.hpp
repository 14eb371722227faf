// Calls by which threads of a process wait for each other (core/calls/threads.def). They are
// recorded for the order of the threads' I/O, and most of them need not be:
//
//   - none while the process has one thread, and inside of MPI;
//   - an object is given by threads that have recorded something, when they have recorded something
//     else since they gave it last, or did that a while ago;
//   - an object is taken when another thread gave it, and that was recorded. A thread that has
//     recorded something records each wait for a condition;
//   - a signal under a mutex gives that mutex: it announces a change, which the next thread that
//     locks the mutex sees, also without waiting. Unlocking is recorded where another thread waits
//     for the mutex, or where the thread has recorded something since its signal;
//   - a thread has a budget, which its other events add to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/wire/encode.hpp"
#include "trace/runtime/process.hpp"
#include "trace/wrap/intercept.hpp"

namespace omnio::trace {

// A mutex, condition or semaphore by which threads wait for each other. It stays known when it has
// ended. Its address may be used again, and the thread that takes the new object may then seem to
// come after one that gave the old object.
struct SharedObject {
  std::atomic<std::uintptr_t> address{0};
  // The thread that gave it last, as far as that was recorded, or has taken it since. The lower
  // half is the thread's number plus 1, or 0 where there was none; the upper half is how often it
  // was given.
  std::atomic<std::uint64_t> giver{0};
  // The thread that gave it last: its number plus 1, above how many other events it had by then.
  std::atomic<std::uint64_t> given_by{0};
  std::atomic<std::uint64_t> given_at{0};  // ticks
  // Threads that wait for this mutex, and how often it was unlocked since one of them got it. A
  // thread that is cancelled while it waits, or that a forked child does not have, is never taken
  // off.
  std::atomic<std::uint32_t> waiting{0};
  std::atomic<std::uint32_t> unheard{0};
  std::atomic<const void*> mutex{nullptr};  // of a condition; nullptr: not known
};

// The object at this address; nullptr where it is not known. addObject makes it known, and returns
// nullptr where the table has no room. Objects live as long as the process.
SharedObject* findObject(const void* object);
SharedObject* addObject(const void* object);

// Events of the thread besides waits.
inline std::uint64_t otherEventsOf(const Thread& self) {
  const std::uint64_t events = eventsOf(self);
  return events > self.waits ? events - self.waits : 0;
}

// Whether calls that threads wait by are recorded now. A thread that does nothing else has a small
// budget: it may be one that only computes.
inline bool mayRecordWaits(const Thread& self) {
  constexpr std::uint64_t kBudgetOfIdle = 1'000;
  constexpr std::uint64_t kBudget = 100'000;
  constexpr std::uint64_t kBudgetOfEvent = 16;
  if (!process.has_threads.load(std::memory_order_relaxed) || self.level != 0 || self.vforked ||
      self.in_mpi || self.depth != 0) {
    return false;
  }
  const std::uint64_t others = otherEventsOf(self);
  return self.waits < (others == 0 ? kBudgetOfIdle : kBudget + kBudgetOfEvent * others);
}

// Records the call from times.start to times.end (ticks). `error` is an errno value, 0 for success.
template <CallId kCall>
void recordWait(Thread& self, wire::EventTimes times, int error, const void* object,
                const void* mutex = nullptr) {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  wire::Arguments<kCall> numbers{};
  numbers[0] = asNumber(reinterpret_cast<std::uintptr_t>(object));
  if constexpr (calls::has(row, calls::Role::kMutex)) {
    numbers[1] = asNumber(reinterpret_cast<std::uintptr_t>(mutex));
  }
  ++self.waits;
  record<kCall>(self, times, error != 0, numbers, 0, error, Subject{});
}

// SharedObject::given_by of the thread now.
inline constexpr unsigned kGivenCountBits = 40;
inline std::uint64_t givenBy(const Thread& self) {
  constexpr std::uint64_t kCount = (std::uint64_t{1} << kGivenCountBits) - 1;
  return (std::uint64_t{self.number} + 1) << kGivenCountBits | (otherEventsOf(self) & kCount);
}
constexpr bool isSameThread(std::uint64_t given_by, std::uint64_t other) {
  return given_by >> kGivenCountBits == other >> kGivenCountBits;
}

// The thread gives the object; called before it does.
template <CallId kCall>
void noteGiven(Thread& self, SharedObject& known, const void* object, const void* mutex = nullptr) {
  constexpr std::uint64_t kWhile = 50'000;  // ticks: some 20 us, 50 where ticks are ns
  if (!hasRecorded(self)) return;
  const std::uint64_t now = ticks();
  const std::uint64_t given_by = givenBy(self);
  if (known.given_by.load(std::memory_order_relaxed) == given_by &&
      now - known.given_at.load(std::memory_order_relaxed) < kWhile) {
    return;
  }
  recordWait<kCall>(self, {.start = now, .end = now}, 0, object, mutex);
  known.given_by.store(given_by, std::memory_order_relaxed);
  known.given_at.store(now, std::memory_order_relaxed);
  const std::uint64_t times = (known.giver.load(std::memory_order_relaxed) >> 32) + 1;
  known.giver.store(times << 32 | (self.number + 1), std::memory_order_release);
}

// Whether the thread takes what another one gave.
inline bool takesFromOther(const Thread& self, SharedObject& known) {
  // A thread has a number from its first event on.
  constexpr std::uint32_t kWithoutNumber = 0xFFFFFFFF;
  const std::uint32_t own = hasRecorded(self) ? self.number + 1 : kWithoutNumber;
  std::uint64_t giver = known.giver.load(std::memory_order_acquire);
  const auto who = static_cast<std::uint32_t>(giver);
  if (who == 0 || who == own) return false;
  // Unless it was given again meanwhile.
  known.giver.compare_exchange_strong(giver, (giver & ~std::uint64_t{0xFFFFFFFF}) | own);
  return true;
}

}  // namespace omnio::trace
