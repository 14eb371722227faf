// The data of the report page, as the JSON that the page's own script reads
// (docs/formats/report_page.md).
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/model/phase_model.hpp"
#include "core/tracefile/trace.hpp"
#include "report/activity.hpp"
#include "report/advice.hpp"
#include "statistics/report.hpp"

namespace omnio::report {

// The most that a page lists. It says how many more there are, and which command lists all.
inline constexpr std::size_t kMostFiles = 1000;
inline constexpr std::size_t kMostNameBytes = std::size_t{96} << 10;  // of all these files, as JSON
inline constexpr std::size_t kMostTextBytes = 160;                    // of a text of a phase
inline constexpr std::size_t kMostCommandBytes = 2000;
inline constexpr std::size_t kMostPhases = 200;
inline constexpr std::size_t kMostHosts = 16;
// With more calls, finding phases takes several times as long as all else.
inline constexpr std::uint64_t kMostPhaseCalls = 5'000'000;
inline constexpr std::size_t kMostPathBytes = 1000;                      // of a file with offsets
inline constexpr std::size_t kMostOffsetBytes = std::size_t{128} << 10;  // of all their cells

// How long calls took.
struct CallTimes {
  stats::Histogram read;
  stats::Histogram write;
  stats::Histogram metadata = {};
  stats::Histogram sync = {};
};
CallTimes timesOfCalls(const stats::Report& by_call);

struct PageData {
  std::string made;     // when, as of RFC 3339
  std::string version;  // of omnio
  stats::Report by_file;
  stats::Report by_call;
  stats::Report by_rank;
  std::vector<Finding> advice;
  std::string no_advice;  // a sentence where it was not looked for
  // Who came late behind the longest wait (statistics/lateness.hpp).
  std::vector<std::string> lateness;
  // Writes the paths of accesses (docs/commands/advise.md), an object; none: they were not asked
  // for.
  std::function<void(base::JsonWriter&)> put_paths;
  Activity activity;
  model::PhaseModel phases;
  std::string no_phases;  // a sentence where `phases` was not made
};

std::string jsonOf(const tracefile::Trace& trace, const PageData& data);

}  // namespace omnio::report
