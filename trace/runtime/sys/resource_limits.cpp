#include "trace/runtime/sys/resource_limits.hpp"

#include <atomic>

#include "trace/runtime/sys/own_clone.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/waiting.hpp"

namespace omnio::trace {
namespace {

constexpr rlim_t kLargest = 4096;
constexpr rlim_t kMore = 64;

std::atomic<bool> is_locked{false};
int users = 0;  // this and the rest under the lock
bool is_raised = false;
rlimit own{};  // the application's
rlimit raised{};

bool setLimit(const rlimit& limit, rlimit* before) {
  return rawSyscall(SYS_prlimit64, 0, RLIMIT_NOFILE, address(&limit), address(before)) == 0;
}

void raise() {
  is_raised = false;
  if (rawSyscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, address(&own)) != 0) return;
  if (own.rlim_cur > kLargest) return;
  raised = own;
  raised.rlim_cur += kMore;
  if (raised.rlim_max < raised.rlim_cur) raised.rlim_max = raised.rlim_cur;
  is_raised = setLimit(raised, nullptr);
}

void restore() {
  rlimit before{};
  if (!is_raised || !setLimit(own, &before)) return;
  is_raised = false;
  if (before.rlim_cur != raised.rlim_cur || before.rlim_max != raised.rlim_max) {
    // Another thread has set a limit of its own meanwhile, and that is the application's word.
    setLimit(before, nullptr);
  }
}

// False when the lock was not to be had: its holder was stopped.
template <typename Action>
bool locked(Action action) {
  if (!waitWhile([] { return is_locked.exchange(true, std::memory_order_acquire); })) return false;
  action();
  is_locked.store(false, std::memory_order_release);
  return true;
}

}  // namespace

SpareDescriptors::SpareDescriptors() {
  // The child has limits of its own, and what is noted here is of the process.
  is_counted_ = !isInOwnTable() && locked([] {
    if (users++ == 0) raise();
  });
}

SpareDescriptors::~SpareDescriptors() {
  if (!is_counted_) return;
  locked([] {
    if (users > 0 && --users == 0) restore();
  });
}

long SpareDescriptors::firstBeyond() {
  long first = -1;
  if (isInOwnTable()) return first;
  locked([&first] {
    if (is_raised) first = static_cast<long>(own.rlim_cur);
  });
  return first;
}

void SpareDescriptors::restoreInChild() {
  is_locked.store(false);
  users = 0;
  restore();
}

}  // namespace omnio::trace
