// The waits of a schedule's events, by ranks: "all ranks", "the rank before". Two schedules of
// one program at two numbers of ranks have the same then, though one of them has waits that others
// imply, or delays where ranks meet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/model/schedule.hpp"
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
  // Reads all events of the schedule. `keeps_files`: waits for calls on the same file or name
  // count, not only those for messages.
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
  using Clock = std::vector<std::uint64_t>;  // by thread: how many of its events come before
  void take(std::uint32_t thread, std::uint64_t number, const Clock& before, const Clock& now,
            const EventRecord& event, const std::vector<EventRecord>& delays);
  // Behind the end of what the wait leads to, through the delays on the way.
  model::Work workOf(const model::Wait& wait) const;
  model::Work meanWorkOf(const EventRecord& event) const;
  std::vector<RankRun> runsOf(std::uint32_t own, std::vector<EventPlace> events) const;

  bool counts(const model::Wait& wait) const {
    return wait.id != 0 && (keeps_files_ || model::isOfCommunication(wait.reason));
  }

  RecordedSchedule& schedule_;
  const bool keeps_files_;
  std::map<EventPlace, model::Work> delay_works_;  // between what delays wait for, and their ends
  std::map<EventPlace, Clock> clocks_;             // of events that others wait for
  std::map<std::pair<std::uint32_t, std::uint64_t>, Waits> waits_;
  bool is_circular_ = false;
};

}  // namespace omnio::preprocess::scale
