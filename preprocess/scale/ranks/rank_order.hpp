// The waits of a schedule's events, by ranks: "all ranks", "the rank before". Two schedules of
// one program at two numbers of ranks have the same then, though one of them has waits that others
// imply, or delays where ranks meet.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/model/schedule.hpp"
#include "preprocess/scale/ranks/event_clock.hpp"
#include "preprocess/scale/recorded_schedule.hpp"

namespace omnio::preprocess::scale {

// The events with one number, in threads with one number, of the ranks from `first` to `last`,
// other than the own thread.
struct RankRun {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t thread = 0;
  std::int64_t event = 0;
};

inline constexpr std::size_t kNumbersOfRun = 4;

class RankOrder {
 public:
  // Reads all events of the schedule. Time grows with events and waits, and with the ranks for each
  // wait for another rank that tells of others; memory with the events that wait, and with the
  // ranks for each event that is waited for and not yet reached by all. `keeps_files`: waits for
  // calls on the same file or name count, not only those for messages.
  RankOrder(RecordedSchedule& schedule, bool keeps_files);

  struct Waits {
    std::vector<RankRun> runs;
    model::Reason reason = model::Reason::kMpi;
    model::Work work;  // the mean of the event's waits
    // For the beginning of the run, where it waits for that.
    std::optional<model::Work> from_start;
    model::Reason start_reason = model::Reason::kMpi;
  };
  // nullptr: it waits for none.
  const Waits* of(std::uint32_t thread, std::uint64_t event) const;
  // Events wait for each other in a circle.
  bool isCircular() const { return is_circular_; }

 private:
  // An event, without the delays behind it.
  struct Reached {
    std::uint32_t thread = 0;
    std::uint64_t event = 0;
    bool operator==(const Reached&) const = default;
  };
  // Events none of which implies another one, by thread of their rank, event and rank.
  using Frontier = std::vector<Reached>;
  // An event or delay that others wait for.
  struct Known {
    EventClock clock;
    Reached event;
    std::shared_ptr<const Frontier> frontier;  // of a delay: what it leads to
    model::Work work;                          // of a delay: between what it waits for, and its end
  };
  // Reached through one wait.
  struct Source {
    const EventClock* clock = nullptr;
    Reached event;
    std::shared_ptr<const Frontier> frontier;  // nullptr: `event` itself
  };
  // A delay that waits for others, behind the event before.
  struct DelayWaits {
    model::Work work;  // between what it waits for, and its end
    std::optional<model::Reason> reason;
  };
  struct Cursor {
    explicit Cursor(EventClock begin) : clock(begin), alone(std::move(begin)) {}
    std::uint64_t place = 0;
    std::uint64_t next = 0;  // event
    std::size_t done = 0;    // of the event and the delays behind it
    bool is_loaded = false;
    EventRecord event;
    EventClock clock;
    EventClock alone;                          // without the delays behind the event before
    std::shared_ptr<const Frontier> frontier;  // behind these; nullptr: there are none
    std::vector<DelayWaits> delays;            // these
  };

  // Does the next event of the thread, or delay behind one. Nothing where it is done, else the id
  // that it has to wait for.
  std::optional<std::uint64_t> step(std::uint32_t thread, Cursor& cursor);
  void take(std::uint32_t thread, const Cursor& cursor, const EventRecord& event,
            std::vector<Source> sources);
  // The events that the sources lead to, without those that others of them imply.
  std::shared_ptr<const Frontier> frontierOf(const std::vector<Source>& sources) const;
  void learn(std::uint64_t id, Known known);
  void forget(const std::vector<model::Wait>& waits);
  // Behind the end of what the wait leads to, through the delays on the way.
  model::Work meanWorkOf(const EventRecord& event) const;
  std::vector<RankRun> runsOf(std::uint32_t own, const Frontier& events) const;

  bool counts(const model::Wait& wait) const {
    return wait.id != 0 && (keeps_files_ || model::isOfCommunication(wait.reason));
  }

  RecordedSchedule& schedule_;
  const bool keeps_files_;
  std::unordered_map<std::uint64_t, Known> known_;         // by id, as long as others wait for it
  std::unordered_map<std::uint64_t, std::uint64_t> left_;  // by id: waits that are still to come
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> blocked_;  // threads, by id
  std::deque<std::uint32_t> ready_;                                        // threads
  std::vector<std::vector<std::pair<std::uint64_t, Waits>>> waits_;  // by thread, events ascending
  bool is_circular_ = false;
};

}  // namespace omnio::preprocess::scale
