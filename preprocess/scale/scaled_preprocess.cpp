#include "preprocess/scale/scaled_preprocess.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/interruption.hpp"
#include "core/model/compact/times_file.hpp"
#include "core/tracefile/completeness.hpp"

namespace omnio::preprocess::scale {
namespace {

// A schedule that is removed, with its times.
class RemovedSchedule {
 public:
  explicit RemovedSchedule(const std::filesystem::path& path)
      : path_(path), schedule_(path), times_(model::timesPath(path)) {}
  RemovedSchedule(const RemovedSchedule&) = delete;
  RemovedSchedule& operator=(const RemovedSchedule&) = delete;
  ~RemovedSchedule() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
    std::filesystem::remove(model::timesPath(path_), ignored);
  }

 private:
  const std::filesystem::path path_;
  const base::RemovedIfInterrupted schedule_;
  const base::RemovedIfInterrupted times_;
};

}  // namespace

base::Result<RepeatedSummary> preprocessRepeated(const tracefile::Trace& trace,
                                                 const tracefile::Wholeness& wholeness,
                                                 const Settings& settings, double factor,
                                                 const std::filesystem::path& schedule) {
  std::filesystem::path recorded = schedule;
  recorded += fmt::format(".{}.recorded", getpid());
  const RemovedSchedule removed(recorded);
  Settings first = settings;
  first.form = {.is_compact = true, .has_exact_times = true};
  const base::Result<Summary> made = preprocess(trace, wholeness, first, recorded);
  if (!made) return made.failure();
  const base::Result<RepeatSummary> repeated =
      scaleRepetitions(recorded, schedule, factor, settings.form);
  if (!repeated) {
    return base::failure(repeated.failure().code, "--repeat-scale {}: {}", factor,
                         repeated.failure().sentence);
  }
  RepeatedSummary summary{.recorded = *made, .repeated = *repeated};
  summary.recorded.written = repeated->written;
  return summary;
}

base::Result<RankScaledSummary> preprocessRanks(const std::vector<const tracefile::Trace*>& traces,
                                                const Settings& settings, const RankSettings& ranks,
                                                const std::filesystem::path& schedule) {
  Settings first = settings;
  first.form = {.is_compact = true, .has_exact_times = true};
  std::vector<std::filesystem::path> recorded;
  std::vector<std::unique_ptr<RemovedSchedule>> removed;
  RankScaledSummary summary;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    std::filesystem::path path = schedule;
    path += fmt::format(".{}.recorded{}", getpid(), i);
    recorded.push_back(path);
    removed.push_back(std::make_unique<RemovedSchedule>(path));
    const base::Result<Summary> made =
        preprocess(*traces[i], tracefile::assess(*traces[i]), first, path);
    if (!made) return made.failure();
    if (i == 0) {
      summary.recorded = *made;
      continue;
    }
    for (const std::string& words : made->left_out) {
      auto& left = summary.recorded.left_out;
      if (std::ranges::find(left, words) == left.end()) left.push_back(words);
    }
  }
  const base::Result<RankSummary> scaled = scaleRanks(recorded, schedule, ranks, settings.form);
  if (!scaled) return scaled.failure();
  summary.scaled = *scaled;
  summary.recorded.written = scaled->written;
  return summary;
}

}  // namespace omnio::preprocess::scale
