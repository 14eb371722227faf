// Sizes and offsets of a call multiplied by a factor.
#pragma once

#include <cstdint>
#include <optional>

#include "core/model/schedule.hpp"
#include "preprocess/scale_map.hpp"

namespace omnio::preprocess {

// Where a call worked, in bytes of the recording; nothing where that is not known.
struct WorkedAt {
  std::optional<std::uint64_t> offset;  // a transfer's
  std::optional<std::uint64_t> sought;  // the position that a seek led to
};

// Scales sizes, offsets and results of the event in place. `file`: the map of the file that it
// works on, `source`: that of the file that a copy reads.
void scaleSizes(model::ScheduleEvent& event, const WorkedAt& at, const ScaleMap& file,
                const ScaleMap& source);

}  // namespace omnio::preprocess
