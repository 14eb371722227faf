// The events of one rank with all their numbers, as they are compared with those of other ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "preprocess/scale/ranks/rank_order.hpp"
#include "preprocess/scale/recorded_schedule.hpp"

namespace omnio::preprocess::scale {

// An event with all numbers that may depend on the rank: those of its line, but for types and
// groups; then size and bytes that are read before they are written of each file that it names;
// then the numbers in the texts of types, and first, step and number of the ranks of groups; then
// the runs of ranks that it waits for.
struct FullEvent {
  EventRecord record;
  std::vector<std::int64_t> numbers;
  std::vector<std::string> labels;  // of the numbers
  // All but the numbers. The same in ranks that do the same.
  std::string shape;
  std::vector<std::string> names;  // of files
  std::vector<std::string> types;  // texts of types and groups, with kTypeNumber for numbers
  std::size_t runs = 0;
  model::Reason reason = model::Reason::kMpi;
  model::Work work;
  // Not in the shape: who comes last and waits for others alone is a matter of chance.
  std::optional<model::Work> from_start;
  model::Reason start_reason = model::Reason::kMpi;

  static constexpr char kTypeNumber = '\x01';
};

// Whether the number of a line is that of a type or a group in the schedule's lists.
bool isTableKey(std::string_view key);

// Reads the events of one thread after the other.
class RankEventReader {
 public:
  RankEventReader(RecordedSchedule& schedule, const RankOrder& order, std::uint32_t thread);

  // The next event; false after the last one, and where it cannot be read (the spool's state).
  // `with_labels`: labels are set.
  bool next(FullEvent& event, bool with_labels = false);

 private:
  void takeDelays(EventRecord& event);
  void takeNames(FullEvent& event);
  void takeTables(FullEvent& event);
  void takeWaits(FullEvent& event);

  RecordedSchedule& schedule_;
  const RankOrder& order_;
  const std::uint32_t thread_;
  std::uint64_t place_;
  std::uint64_t next_ = 0;
  std::vector<EventRecord> delays_;  // behind the event before
  std::string line_;
  std::vector<pattern::Field> fields_;
};

}  // namespace omnio::preprocess::scale
