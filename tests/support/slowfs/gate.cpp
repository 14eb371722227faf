#include "tests/support/slowfs/gate.hpp"

namespace slowfs {

void Gate::pass(RequestClass of, pid_t caller) {
  std::unique_lock lock(mutex_);
  if (held_ != of) return;
  Waiting waiting = {.caller = caller, .goes = false};
  waiting_.push_back(&waiting);
  changed_.wait(lock, [&waiting] { return waiting.goes; });
}

void Gate::hold(RequestClass of) {
  const std::lock_guard lock(mutex_);
  held_ = of;
}

void Gate::letLocked(std::uint64_t requests) {
  for (; requests > 0 && !waiting_.empty(); --requests) {
    waiting_.front()->goes = true;
    waiting_.pop_front();
  }
  changed_.notify_all();
}

void Gate::let(std::uint64_t requests) {
  const std::lock_guard lock(mutex_);
  letLocked(requests);
}

void Gate::open() {
  const std::lock_guard lock(mutex_);
  held_.reset();
  letLocked(waiting_.size());
}

std::string Gate::json() const {
  const std::lock_guard lock(mutex_);
  std::string callers;
  for (const Waiting* const waiting : waiting_) {
    callers += (callers.empty() ? "" : ", ") + std::to_string(waiting->caller);
  }
  return "{\"held\": [" + callers + "]}";
}

}  // namespace slowfs
