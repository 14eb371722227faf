// The ids that steps of a schedule have, where others wait for them: 1, 2, 3 … by thread, and in
// the order of its steps. Where a thread does the same in each turn of a loop, its ids advance by
// the same step, and so do those that others wait for.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "preprocess/analysis.hpp"
#include "preprocess/order/communication.hpp"

namespace omnio::preprocess {

class StepIds {
 public:
  // Numbers all steps that others wait for because of files or of communication. Takes eight bytes
  // for each, and more for those that are not calls.
  StepIds(const Analysis& analysis, const CommunicationOrder& order);

  // 0 when no step waits for the event.
  std::uint64_t ofEvent(const EventRef& event) const;
  std::uint64_t ofMeeting(std::uint64_t number) const { return of_meetings_[number]; }
  // The id of the step that has that one in Dependencies.
  std::uint64_t ofDependency(std::uint64_t id) const { return of_dependencies_[id - 1]; }

  // Goes through the events of a thread.
  class Cursor {
   public:
    Cursor(const StepIds& ids, std::uint32_t thread) : ids_(ids), thread_(thread) {}
    // The same as ofEvent(). Sequences do not go down.
    std::uint64_t at(std::uint64_t sequence);

   private:
    const StepIds& ids_;
    const std::uint32_t thread_;
    std::size_t next_ = 0;
  };

 private:
  // A step that is not an event.
  struct Other {
    std::int64_t behind = -1;  // the event of its thread that it follows
    // Among those behind the same event; meetings come first.
    std::uint64_t place = 0;
    std::uint64_t* id = nullptr;
  };
  struct Thread {
    std::vector<std::uint64_t> events;  // by sequence, each once
    std::vector<std::int64_t> others;   // which event each follows, in order
    std::uint64_t before = 0;           // ids of the threads before it
  };

  void add(const EventRef& event);
  void add(const std::vector<Predecessor>& after);
  std::uint64_t idAt(const Thread& thread, std::size_t event) const;

  std::vector<Thread> threads_;
  std::vector<std::uint64_t> of_meetings_;      // by number
  std::vector<std::uint64_t> of_dependencies_;  // by id less 1
};

}  // namespace omnio::preprocess
