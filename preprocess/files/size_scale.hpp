// Sizes and offsets of a call multiplied by a factor.
#pragma once

#include <cstdint>
#include <optional>

#include "core/model/schedule.hpp"
#include "preprocess/files/scale_map.hpp"

namespace omnio::preprocess {

// Where a call worked, in bytes of the recording; nothing where that is not known.
struct WorkedAt {
  std::optional<std::uint64_t> offset;  // a transfer's
  bool is_guess = false;                // of the offset: other threads may have decided it
  std::optional<std::uint64_t> sought;  // the position that a seek led to
};

// The bytes that decide whether a call keeps its size: those it asked for, or those of the line
// that it read.
std::uint64_t countedBytes(const calls::Row& row, std::uint64_t request, std::uint64_t moved);

// Scales sizes, offsets and results of the event in place. `file`: the map of the file that it
// works on, `source`: that of the file that a copy reads. `keep_below`: calls of fewer bytes keep
// their sizes.
void scaleSizes(model::ScheduleEvent& event, const WorkedAt& at, const ScaleMap& file,
                const ScaleMap& source, std::uint64_t keep_below = 0);

}  // namespace omnio::preprocess
