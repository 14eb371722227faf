// Reads an event of a schedule. A value is checked where it is read: only there are its line and
// column known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/json_reader.hpp"
#include "core/model/compact/times_file.hpp"
#include "core/model/schedule.hpp"

namespace omnio::model {

using Locations = std::unordered_map<std::string, FileNumber>;

inline constexpr std::string_view kStartKey = "start";
inline constexpr std::string_view kShareKey = "share";
inline constexpr std::int64_t kTenYears = std::int64_t{10} * 365 * 86400 * 1'000'000'000;

// Where the times of a thread's events are.
struct ThreadTimes {
  std::int64_t previous_end_ns = 0;
  // Takes the place of the next event's own gap: that before a loop.
  std::optional<std::int64_t> gap_ns;
  // Where the next times are; nullptr: the document has them, as means in loops.
  TimesReader* exact = nullptr;
  // The document has none of the next event's times, `exact` has all.
  bool are_left_out = false;
};

// How many events each line with a "share" has stood for so far, by its place.
using ShareCounts = std::map<std::pair<std::size_t, std::size_t>, std::uint64_t>;

// Refuses what no event of a schedule has. `mpi`: of the schedule; nullptr where it has no calls of
// MPI-IO. `shares`: nullptr where each event has what its line says.
ScheduleEvent readEvent(base::JsonReader& in, const base::JsonNode& node,
                        const Locations& locations, const MpiTables* mpi, ThreadTimes& times,
                        ShareCounts* shares);

// How many times of an event are in the file of times. `are_left_out`: the line has none of them.
std::int64_t timesOf(const base::JsonNode& event, bool are_left_out);

}  // namespace omnio::model
