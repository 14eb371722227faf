// A vector clock: how many events of each thread come before an event. Threads share one list
// where they know the same of the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace omnio::preprocess::scale {

class EventClock {
 public:
  using Counts = std::vector<std::uint64_t>;  // by thread
  // A thread of so many, before its first event.
  EventClock(std::uint32_t thread, std::shared_ptr<const Counts> none)
      : thread_(thread), others_(std::move(none)) {}

  std::uint64_t of(std::uint32_t thread) const {
    return thread == thread_ ? own_ : (*others_)[thread];
  }
  // The thread has done so many events.
  void setOwn(std::uint64_t events);
  // All that the others know comes before, too.
  void join(std::span<const EventClock* const> others);
  // By thread, without the events of the own thread since it last joined another one. The same
  // list means the same knowledge.
  const std::shared_ptr<const Counts>& others() const { return others_; }

 private:
  const std::shared_ptr<const Counts>& whole() const;

  std::uint32_t thread_;
  std::uint64_t own_ = 0;
  std::shared_ptr<const Counts> others_;
  mutable std::shared_ptr<const Counts> whole_;  // with the own events, once it was needed
};

}  // namespace omnio::preprocess::scale
