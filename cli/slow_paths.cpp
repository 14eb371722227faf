#include "cli/slow_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/base/printable.hpp"
#include "core/tracefile/run_window.hpp"
#include "core/wire/info.hpp"
#include "preprocess/files/mounts.hpp"
#include "preprocess/preprocess.hpp"

namespace omnio::cli {
namespace {

// The first process that says which file systems its node has.
preprocess::MountPoints mountsOf(const tracefile::Trace& trace) {
  for (const auto& process : trace.processes()) {
    preprocess::MountPoints mounts(process->info.text(wire::info::kMounts));
    if (mounts.isKnown()) return mounts;
  }
  return preprocess::MountPoints({});
}

// Why the calibration is of another target than the trace; empty where it is not, or where that is
// not known.
std::string otherTarget(const tracefile::Trace& trace, const access_time::SlowPathFinder& finder,
                        const predict::Calibration& calibration, const std::string& name) {
  const std::string& mount = calibration.target.mount;
  const preprocess::MountPoints points = mountsOf(trace);
  if (mount.find(' ') == mount.npos || !points.isKnown()) return {};
  double all_s = 0, there_s = 0;
  std::map<std::string, double> others;
  for (const auto& [path, seconds] : finder.secondsByFile()) {
    const std::size_t place = points.holding(path);
    if (place == points.mounts().size()) continue;
    const preprocess::Mount& found = points.mounts()[place];
    const std::string words = base::printable(fmt::format("{} {}", found.type, found.source));
    all_s += seconds;
    if (mount.ends_with(' ' + words)) {
      there_s += seconds;
    } else {
      others[words] += seconds;
    }
  }
  if (there_s * 2 >= all_s) return {};
  const auto most =
      std::ranges::max_element(others, {}, &std::pair<const std::string, double>::second);
  return fmt::format(
      "{}: it was measured on {}, and {:.0f} % of the I/O time of {} is on other file systems, "
      "most "
      "on {}: calibrate that one",
      name, mount, 100 * (1 - there_s / all_s), base::printable(trace.directory().native()),
      most->first);
}

}  // namespace

base::Result<access_time::SlowPaths> slowPathsOf(const tracefile::Trace& trace,
                                                 const tracefile::Wholeness& wholeness,
                                                 const std::string& calibration) {
  const auto read = predict::readCalibration(calibration);
  if (!read) return read.failure();
  const std::string name = base::printable(calibration);
  const auto times = access_time::AccessTimes::learned(*read, name);
  if (!times) return times.failure();
  access_time::SlowPathFinder finder(*times);
  const preprocess::SchedulePass passes[] = {{finder.survey(), "looking at files and ranks"},
                                             {finder.accesses(), "comparing accesses"}};
  preprocess::Settings settings;
  settings.order = model::Order::kNone;
  const auto passed = preprocess::passSchedule(trace, wholeness, settings, passes);
  if (!passed) return passed.failure();
  const std::string other = otherTarget(trace, finder, *read, name);
  if (!other.empty()) return base::Failure{base::Code::kInvalid, other};
  return finder.found(*read, name, base::printable(trace.directory().native()),
                      passed->begin_ns - tracefile::startOfRun(trace));
}

}  // namespace omnio::cli
