#include "preprocess/analysis_progress.hpp"

#include <utility>

namespace omnio::preprocess {

void AnalysisProgress::begin(std::int64_t first_start_ns) {
  const std::lock_guard lock(mutex_);
  first_start_ns_ = first_start_ns;
  has_more_.notify_all();
}

void AnalysisProgress::take(const EventRef& step) {
  const bool is_dropped = std::exchange(is_dropped_, false);
  unpublished_.push_back({step, is_dropped});
  if (unpublished_.size() >= kAtOnce) publish();
}

void AnalysisProgress::publish() {
  {
    const std::lock_guard lock(mutex_);
    for (const Taken& taken : unpublished_) {
      taken_[taken.step.thread] = taken.step.sequence + 1;
      if (!taken.is_dropped) continue;
      std::vector<std::uint64_t>& dropped = dropped_[taken.step.thread];
      if (dropped.empty()) droppers_.push_back(taken.step.thread);
      dropped.push_back(taken.step.sequence);
    }
  }
  has_more_.notify_all();
  unpublished_.clear();
}

void AnalysisProgress::end() {
  publish();
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  has_more_.notify_all();
}

std::int64_t AnalysisProgress::firstStart() {
  std::unique_lock lock(mutex_);
  has_more_.wait(lock, [this] { return is_over_ || first_start_ns_; });
  return first_start_ns_.value_or(0);
}

bool AnalysisProgress::isDropped(const EventRef& step) {
  if (seen_taken_[step.thread] <= step.sequence) {
    std::unique_lock lock(mutex_);
    has_more_.wait(lock, [&] { return is_over_ || taken_[step.thread] > step.sequence; });
    seen_taken_ = taken_;
    for (const std::uint32_t thread : std::exchange(droppers_, {})) {
      for (const std::uint64_t sequence : std::exchange(dropped_[thread], {})) {
        seen_dropped_[thread].push_back(sequence);
      }
    }
  }
  std::deque<std::uint64_t>& dropped = seen_dropped_[step.thread];
  while (!dropped.empty() && dropped.front() < step.sequence) dropped.pop_front();
  return !dropped.empty() && dropped.front() == step.sequence;
}

}  // namespace omnio::preprocess
