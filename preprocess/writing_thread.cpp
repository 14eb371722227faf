#include "preprocess/writing_thread.hpp"

#include <system_error>
#include <utility>

#include "core/base/threads.hpp"

namespace omnio::preprocess {

WritingThread::WritingThread(model::ScheduleSink& sink) : sink_(sink) {
  if (base::usableProcessors() == 1) return;
  try {
    const base::SignalsBlocked blocked;  // in the thread that it makes
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    // It is written in this one.
  }
}

WritingThread::~WritingThread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = has_ended_ = true;
  }
  has_work_.notify_one();
  thread_.join();
}

void WritingThread::beginThread(const model::ScheduleThread& thread) {
  if (thread_.joinable()) {
    current_.begin = thread;
  } else {
    sink_.beginThread(thread);
  }
}

void WritingThread::event(model::ScheduleEvent&& event) {
  if (!thread_.joinable()) {
    sink_.event(event);
    return;
  }
  if (current_.count == current_.events.size()) {
    current_.events.push_back(std::move(event));
  } else {
    current_.events[current_.count] = std::move(event);
  }
  if (++current_.count == kEvents) pass();
}

void WritingThread::endThread() {
  if (!thread_.joinable()) {
    sink_.endThread();
    return;
  }
  current_.is_end = true;
  pass();
}

// Hands on what has been put together, once there is room.
void WritingThread::pass() {
  std::unique_lock lock(mutex_);
  has_room_.wait(lock, [this] { return filled_.size() < kBatches || has_ended_; });
  if (has_ended_) std::rethrow_exception(failure_);
  filled_.push_back(std::move(current_));
  current_ = {};
  if (!free_.empty()) {
    current_ = std::move(free_.back());
    free_.pop_back();
  }
  lock.unlock();
  has_work_.notify_one();
}

void WritingThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    has_work_.wait(lock, [this] { return !filled_.empty() || is_over_; });
    if (filled_.empty() || has_ended_) return;
    Batch batch = std::move(filled_.front());
    filled_.pop_front();
    lock.unlock();
    has_room_.notify_one();
    try {
      write(batch);
    } catch (...) {
      failure_ = std::current_exception();
    }
    batch.begin.reset();
    batch.count = 0;
    batch.is_end = false;
    lock.lock();
    free_.push_back(std::move(batch));
    if (!failure_) continue;
    has_ended_ = true;
    has_room_.notify_one();
    return;
  }
}

void WritingThread::write(const Batch& batch) {
  if (batch.begin) sink_.beginThread(*batch.begin);
  for (std::size_t i = 0; i < batch.count; ++i) sink_.event(batch.events[i]);
  if (batch.is_end) sink_.endThread();
}

void WritingThread::finish() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  has_work_.notify_one();
  thread_.join();
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace omnio::preprocess
