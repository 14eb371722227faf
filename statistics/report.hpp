// The statistics of a trace: one pass over its events, memory for the groups alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/trace.hpp"
#include "statistics/group.hpp"

namespace omnio::stats {

enum class By { kFile, kRank, kThread, kCall };

// "file", "rank", ..., and back.
std::string_view nameOf(By by);
std::optional<By> byName(std::string_view name);

struct Report {
  std::string trace;  // the directory, as it was given
  By by = By::kFile;
  std::optional<int> rank;         // the one asked for; none: all
  tracefile::Wholeness wholeness;  // of the whole trace
  std::vector<tracefile::HostClock> clocks;
  std::vector<Group> groups;
  Group total;  // of all groups
  // Calls made by libraries below the application's own: they are what those calls did, so they
  // stand in no group.
  std::uint64_t events_below = 0;
  // What recording the events of `groups` and those below took of the application's time, at the
  // least: each process measured what an event costs it.
  double recording_ns = 0;
};

// Groups come in a fixed order: files and calls by the time spent in them, ranks and threads by
// number.
base::Result<Report> makeReport(const tracefile::Trace& trace, By by, std::optional<int> rank);

// A table for people.
std::string textOf(const Report& report);

// A document for programs: docs/commands/stats.md.
std::string jsonOf(const Report& report);

}  // namespace omnio::stats
