// A schedule whose program does more time steps, or fewer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/schedule_writer.hpp"

namespace omnio::preprocess::scale {

struct RepeatSummary {
  std::uint64_t turns = 0;         // time steps of the recording
  std::uint64_t scaled_turns = 0;  // and of the schedule
  std::string loop;                // what a time step is, in words
  std::vector<std::string> left;   // in words: what was not scaled
  std::uint64_t events = 0;        // in the schedule
  model::WrittenSchedule written;
};

// Reads the schedule `from` and writes `to`, with `factor` times the time steps, rounded, and at
// least one. What lies before and after them stays. Recorded turns come first. Turns beyond them:
//
// - numbers that follow a rule (pattern::NumberSeries) go on by it, in names too;
// - other numbers, the waits for other events and the times are those of recorded turns, one after
//   the other; waits for an event, and uses of a descriptor, of the same or an earlier turn are for
//   that of as many turns before.
base::Result<RepeatSummary> scaleRepetitions(const std::filesystem::path& from,
                                             const std::filesystem::path& to, double factor,
                                             model::ScheduleForm form);

}  // namespace omnio::preprocess::scale
