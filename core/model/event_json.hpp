// The JSON of an event of a schedule: as text, or at once taken apart.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/schedule.hpp"
#include "core/model/schedule_keys.hpp"

namespace omnio::model {

// Json: base::JsonWriter or LineSplitter.
template <typename Json>
class EventJson {
 public:
  // `json` and the locations of the files, by number, outlive it.
  EventJson(Json& json, const std::vector<std::string>& locations)
      : json_(json), locations_(locations) {}

  // Writes the event as an object: with "start" and "end", or, where the end of the thread's event
  // before is given, with "gap" and "duration". Work is then written with its zeros, also where
  // there is none ("work" is 0), so that events that differ in their times alone have the same
  // keys.
  void append(const ScheduleEvent& event);
  void appendAfter(const ScheduleEvent& event, std::int64_t previous_end_ns);

 private:
  void putRest(const ScheduleEvent& event);
  void putLocation(std::string_view name, FileNumber number);
  void putName(std::string_view key, const ScheduleEvent& event, FileNumber number);
  void putDirectory(std::string_view key, Descriptor directory);
  void putLookups(std::string_view key, std::uint16_t lookups);
  void putArgument(const ScheduleEvent& event, const ScheduleKey& item);
  void putCall(const ScheduleEvent& event);
  void putWork(const Work& work);
  void putWait(const Wait& wait);
  void putWaits(const std::vector<Wait>& waits);
  void putRun(std::span<const Wait> run);
  void putResult(const ScheduleEvent& event);

  Json& json_;
  const std::vector<std::string>& locations_;
  bool is_relative_ = false;
};

}  // namespace omnio::model
