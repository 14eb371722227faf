// A schedule at another number of ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/schedule_writer.hpp"
#include "preprocess/scale/ranks/rank_program.hpp"

namespace omnio::preprocess::scale {

struct RankSummary {
  std::vector<int> recorded;  // numbers of ranks
  std::size_t classes = 0;    // of ranks that do the same
  std::uint64_t events = 0;   // in the schedule
  bool keeps_files = true;    // the order of calls on the same file or name
  // Files that were there before the run and are as long as recorded, since there is one trace.
  std::uint64_t kept_sizes = 0;
  model::WrittenSchedule written;
};

inline constexpr std::string_view kNoFileOrder =
    "the order of calls on the same file or name: it is not the same in all ranks that do the "
    "same, "
    "or not at all numbers of ranks";

// The same for RankSummary::kept_sizes.
std::string keptSizes(std::uint64_t files);

// Reads the schedules `from`, one or two of the same program at different numbers of ranks, and
// writes `to`, at `settings.ranks`. Times are the means of the ranks that do the same, at the last
// number of ranks. Fails with the call and its number that is not affine in the rank and the number
// of ranks.
base::Result<RankSummary> scaleRanks(const std::vector<std::filesystem::path>& from,
                                     const std::filesystem::path& to, const RankSettings& settings,
                                     model::ScheduleForm form);

}  // namespace omnio::preprocess::scale
