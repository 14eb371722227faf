// Mutexes, conditions, semaphores and barriers of POSIX threads.
#include "trace/wrap/waits.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "trace/wrap/real_symbol.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {
namespace {

constexpr std::size_t kObjects = 4096;
constexpr std::size_t kWaitProbes = 8;
SharedObject objects[kObjects];
// Whether there are any: most programs that lock never wait.
std::atomic<bool> has_objects{false};

std::size_t placeOf(std::uintptr_t address) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;  // Fibonacci hashing
  return static_cast<std::size_t>(address * kOdd >> 40) % kObjects;
}

// `takes` makes an unused place that of the address, and returns whether it has.
template <typename Takes>
SharedObject* lookUp(const void* object, Takes takes) {
  const auto address = reinterpret_cast<std::uintptr_t>(object);
  const std::size_t first = placeOf(address);
  for (std::size_t i = 0; i < kWaitProbes; ++i) {
    SharedObject& place = objects[(first + i) % kObjects];
    const std::uintptr_t found = place.address.load(std::memory_order_relaxed);
    if (found == address || (found == 0 && takes(place.address, address))) return &place;
  }
  return nullptr;
}

// A wait that is long enough to be recorded, in ticks: some 5 us.
constexpr std::uint64_t kLong = 10'000;

// The C library has two kinds of conditions; programs are linked with the newer one.
void* conditionSymbol(const char* name) {
  void* const found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
  return found != nullptr ? found : threadSymbol(name);
}

template <typename Function>
using ThreadCall = LazySymbol<Function, threadSymbol>;
template <typename Function>
using ConditionCall = LazySymbol<Function, conditionSymbol>;

using Lock = int(pthread_mutex_t*);
constinit ThreadCall<Lock> real_lock("pthread_mutex_lock");
constinit ThreadCall<Lock> real_trylock("pthread_mutex_trylock");
constinit ThreadCall<Lock> real_unlock("pthread_mutex_unlock");
constinit ConditionCall<int(pthread_cond_t*, pthread_mutex_t*)> real_wait("pthread_cond_wait");
constinit ConditionCall<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)> real_timedwait(
    "pthread_cond_timedwait");
constinit ThreadCall<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>
    real_clockwait("pthread_cond_clockwait");
constinit ConditionCall<int(pthread_cond_t*)> real_signal("pthread_cond_signal");
constinit ConditionCall<int(pthread_cond_t*)> real_broadcast("pthread_cond_broadcast");
constinit ThreadCall<int(pthread_barrier_t*)> real_barrier("pthread_barrier_wait");
constinit ThreadCall<int(sem_t*)> real_sem_wait("sem_wait");
constinit ThreadCall<int(sem_t*)> real_sem_trywait("sem_trywait");
constinit ThreadCall<int(sem_t*, const timespec*)> real_sem_timedwait("sem_timedwait");
constinit ThreadCall<int(sem_t*, clockid_t, const timespec*)> real_sem_clockwait("sem_clockwait");
constinit ThreadCall<int(sem_t*)> real_post("sem_post");

// When the library is loaded: memory may be allocated under a lock, and a look-up may allocate.
__attribute__((constructor)) void lookUpWaits() {
  for (auto* symbol : {&real_lock, &real_trylock, &real_unlock}) symbol->get();
  real_wait.get();
  real_timedwait.get();
  real_clockwait.get();
  real_signal.get();
  real_broadcast.get();
  real_barrier.get();
  real_sem_wait.get();
  real_sem_trywait.get();
  real_sem_timedwait.get();
  real_sem_clockwait.get();
  real_post.get();
}

// Before the thread unlocks the mutex. That lets others go on where one waits for it; and where
// this thread has told of a change under it, and has recorded something since: the one that waits
// for the change has to lock it.
void noteUnlocked(Thread& self, SharedObject& known, const pthread_mutex_t* mutex) {
  constexpr std::uint32_t kMostUnheard = 64;
  if (!hasRecorded(self)) return;
  const bool is_awaited = known.waiting.load(std::memory_order_relaxed) > 0;
  const std::uint64_t given_by = known.given_by.load(std::memory_order_relaxed);
  const std::uint64_t own = givenBy(self);
  const bool has_gone_on = given_by != own && isSameThread(given_by, own);
  if (!is_awaited && !has_gone_on) return;
  const std::uint64_t now = ticks();
  recordWait<CallId::pthread_mutex_unlock>(self, {.start = now, .end = now}, 0, mutex);
  if (has_gone_on) known.given_by.store(own, std::memory_order_relaxed);
  if (is_awaited && known.unheard.fetch_add(1, std::memory_order_relaxed) >= kMostUnheard) {
    known.waiting.store(0, std::memory_order_relaxed);
    known.unheard.store(0, std::memory_order_relaxed);
  }
}

void noteLocked(SharedObject& known) {
  known.unheard.store(0, std::memory_order_relaxed);
  std::uint32_t waiting = known.waiting.load(std::memory_order_relaxed);
  while (waiting > 0 && !known.waiting.compare_exchange_weak(waiting, waiting - 1)) {
  }
}

template <CallId kCall, typename Real, typename... A>
int waitOnCondition(Real* real, pthread_cond_t* condition, pthread_mutex_t* mutex, A... a) {
  if (real == nullptr) return ENOSYS;
  Thread& self = thread;
  if (!mayRecordWaits(self)) return real(condition, mutex, a...);
  SharedObject* const known = addObject(mutex);
  if (known != nullptr) noteUnlocked(self, *known, mutex);
  if (SharedObject* const awaited = addObject(condition)) {
    awaited->mutex.store(mutex, std::memory_order_relaxed);
  }
  const std::uint64_t start = leaveThinking(self);
  const int result = real(condition, mutex, a...);
  const std::uint64_t end = ticks();
  const bool takes = known != nullptr && takesFromOther(self, *known);
  if (takes || hasRecorded(self)) {
    recordWait<kCall>(self, {.start = start, .end = end}, result, condition, mutex);
  }
  self.last_lock = mutex;
  return result;
}

template <CallId kCall, typename Real>
int signal(Real* real, pthread_cond_t* condition) {
  Thread& self = thread;
  if (mayRecordWaits(self)) {
    const SharedObject* const awaited = findObject(condition);
    const void* mutex =
        awaited == nullptr ? nullptr : awaited->mutex.load(std::memory_order_relaxed);
    if (mutex == nullptr) mutex = self.last_lock;
    if (SharedObject* const known = addObject(mutex != nullptr ? mutex : condition)) {
      noteGiven<kCall>(self, *known, condition, mutex);
    }
  }
  return real(condition);
}

template <CallId kCall, typename Real, typename... A>
int takeSemaphore(Real* real, sem_t* semaphore, A... a) {
  if (real == nullptr) {  // sem_clockwait is of glibc 2.30
    errno = ENOSYS;
    return -1;
  }
  Thread& self = thread;
  SharedObject* const known = mayRecordWaits(self) ? addObject(semaphore) : nullptr;
  if (known == nullptr) return real(semaphore, a...);
  const std::uint64_t start = leaveThinking(self);
  const int result = real(semaphore, a...);
  if (result == 0 && takesFromOther(self, *known)) {
    recordWait<kCall>(self, {.start = start, .end = ticks()}, 0, semaphore);
  }
  return result;
}

}  // namespace

SharedObject* findObject(const void* object) {
  return lookUp(object, [](std::atomic<std::uintptr_t>&, std::uintptr_t) { return false; });
}

SharedObject* addObject(const void* object) {
  return lookUp(object, [](std::atomic<std::uintptr_t>& place, std::uintptr_t address) {
    std::uintptr_t unused = 0;
    if (!place.compare_exchange_strong(unused, address) && unused != address) return false;
    has_objects.store(true, std::memory_order_relaxed);
    return true;
  });
}

}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  auto* const lock = real_lock.get();
  Thread& self = thread;
  auto* const trylock = mayRecordWaits(self) ? real_trylock.get() : nullptr;
  if (trylock == nullptr) return lock(mutex);
  omnio::wire::EventTimes times{};
  int result = trylock(mutex);
  if (result == EBUSY) {
    SharedObject* const known = addObject(mutex);
    if (known != nullptr) known->waiting.fetch_add(1, std::memory_order_relaxed);
    times.start = leaveThinking(self);
    result = lock(mutex);
    times.end = ticks();
    if (known != nullptr) noteLocked(*known);
  }
  if (result != 0) return result;
  self.last_lock = mutex;
  if (!has_objects.load(std::memory_order_relaxed)) return result;
  SharedObject* const known = findObject(mutex);
  if (known == nullptr) return result;
  const bool has_waited = times.end - times.start > kLong;
  if (!takesFromOther(self, *known) && !(has_waited && hasRecorded(self))) return result;
  if (!has_waited) times.start = times.end = ticks();
  recordWait<CallId::pthread_mutex_lock>(self, times, 0, mutex);
  return result;
}
OMNIO_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  Thread& self = thread;
  if (has_objects.load(std::memory_order_relaxed) && mayRecordWaits(self)) {
    if (SharedObject* const known = findObject(mutex)) noteUnlocked(self, *known, mutex);
  }
  return real_unlock.get()(mutex);
}
OMNIO_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return waitOnCondition<CallId::pthread_cond_wait>(real_wait.get(), condition, mutex);
}
OMNIO_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                        const timespec* until) {
  return waitOnCondition<CallId::pthread_cond_timedwait>(real_timedwait.get(), condition, mutex,
                                                         until);
}
OMNIO_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                        clockid_t clock, const timespec* until) {
  return waitOnCondition<CallId::pthread_cond_clockwait>(real_clockwait.get(), condition, mutex,
                                                         clock, until);
}
OMNIO_EXPORT int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  return signal<CallId::pthread_cond_signal>(real_signal.get(), condition);
}
OMNIO_EXPORT int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  return signal<CallId::pthread_cond_broadcast>(real_broadcast.get(), condition);
}
OMNIO_EXPORT int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  auto* const real = real_barrier.get();
  Thread& self = thread;
  const bool has_any_recorded = process.next_thread.load(std::memory_order_relaxed) > 0;
  if (!has_any_recorded || !mayRecordWaits(self)) return real(barrier);
  const std::uint64_t start = leaveThinking(self);
  const int result = real(barrier);
  recordWait<CallId::pthread_barrier_wait>(self, {.start = start, .end = ticks()}, 0, barrier);
  return result;
}
OMNIO_EXPORT int sem_wait(sem_t* semaphore) {
  return takeSemaphore<CallId::sem_wait>(real_sem_wait.get(), semaphore);
}
OMNIO_EXPORT int sem_trywait(sem_t* semaphore) noexcept {
  return takeSemaphore<CallId::sem_trywait>(real_sem_trywait.get(), semaphore);
}
OMNIO_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* until) {
  return takeSemaphore<CallId::sem_timedwait>(real_sem_timedwait.get(), semaphore, until);
}
OMNIO_EXPORT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  return takeSemaphore<CallId::sem_clockwait>(real_sem_clockwait.get(), semaphore, clock, until);
}
OMNIO_EXPORT int sem_post(sem_t* semaphore) noexcept {
  Thread& self = thread;
  if (mayRecordWaits(self)) {
    if (SharedObject* const known = addObject(semaphore)) {
      noteGiven<CallId::sem_post>(self, *known, semaphore);
    }
  }
  return real_post.get()(semaphore);
}
