// Trace directories become a schedule with other numbers of repetitions, or of ranks.
#pragma once

#include <filesystem>

#include "preprocess/preprocess.hpp"
#include "preprocess/scale/ranks/rank_scale.hpp"
#include "preprocess/scale/steps/repeat_scale.hpp"

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

struct RankScaledSummary {
  Summary recorded;  // of the first trace
  RankSummary scaled;
};

// The same of a schedule at another number of ranks, from one trace or two.
base::Result<RankScaledSummary> preprocessRanks(const std::vector<const tracefile::Trace*>& traces,
                                                const Settings& settings, const RankSettings& ranks,
                                                const std::filesystem::path& schedule);

}  // namespace omnio::preprocess::scale
