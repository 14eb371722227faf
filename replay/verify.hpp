// Compares what a replay did with its schedule, operation by operation: call, file, size, offset,
// flags, result class, thread.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/schedule.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::replay {

// A replay describes itself in replay.json, in its trace directory.
struct ReplayIdentity {
  std::string report;           // its path
  std::string schedule;         // path of the schedule that was replayed
  std::string schedule_digest;  // replay/plan/schedule_digest.hpp
  struct Thread {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
  };
  // What locations are below, absolute paths: the trees of the targets, and those that nodes have
  // for themselves, by their paths there.
  std::vector<std::string> trees;
  // An input that was read in place, by location.
  struct Input {
    std::string source;
    std::string real;  // where links of that path lead to
  };
  std::map<std::string, Input, std::less<>> in_place;
  bool write_overwrite = false;
  std::uint64_t differences = 0;  // that the replay found itself
  // Those of adopted targets, where directories may have been before.
  std::vector<std::string> adopted_trees;
  std::map<std::pair<int, int>, Thread> threads;  // by rank and thread of the schedule
};
base::Result<ReplayIdentity> readReplayIdentity(const std::filesystem::path& trace_directory);

struct Verification {
  std::uint64_t compared = 0;  // operations
  // Those that a replay does otherwise on purpose, by the name of their call; not compared.
  std::map<std::string_view, std::uint64_t> substituted{};
  std::uint64_t differences = 0;
  std::vector<std::string> first;  // differences, one sentence each
  model::ScheduleGlobal source;    // what the schedule says of its trace, and of what it lacks
};

inline constexpr std::size_t kDifferencesTold = 20;

// Fails when the schedule cannot be read, or is not the one that was replayed.
// Memory does not grow with the number of operations.
base::Result<Verification> verify(const std::filesystem::path& schedule,
                                  const tracefile::Trace& trace, const ReplayIdentity& identity);

}  // namespace omnio::replay
