// Calls of schedules for tests of the replayer.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/calls/table.hpp"
#include "core/model/schedule.hpp"

namespace omnio::test {

// nullptr where no call has this name.
inline const calls::Row* rowOf(std::string_view name) {
  for (const calls::Row& row : calls::kTable) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// A call that begins at `start_ns` and takes 10 ns.
inline model::ScheduleEvent call(std::string_view name, std::int64_t start_ns) {
  model::ScheduleEvent event;
  event.row = rowOf(name);
  event.start_ns = start_ns;
  event.end_ns = start_ns + 10;
  return event;
}

}  // namespace omnio::test
