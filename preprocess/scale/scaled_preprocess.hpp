// A trace directory becomes a schedule with other numbers of repetitions.
#pragma once

#include <filesystem>

#include "preprocess/preprocess.hpp"
#include "preprocess/scale/repeat_scale.hpp"

namespace omnio::preprocess::scale {

struct RepeatedSummary {
  Summary recorded;
  RepeatSummary repeated;
};

// Makes the schedule of the trace, as preprocess() does, and scales it. The schedule of the
// recording lies beside the other one until that is complete.
base::Result<RepeatedSummary> preprocessRepeated(const tracefile::Trace& trace,
                                                 const tracefile::Wholeness& wholeness,
                                                 const Settings& settings, double factor,
                                                 const std::filesystem::path& schedule);

}  // namespace omnio::preprocess::scale
