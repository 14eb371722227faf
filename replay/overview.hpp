// Sums up what a replay of a schedule would do, without a target: `omnio schedule`. The schedule is
// read by the reader and the compiler of a replay, so what a replay refuses is refused here, with
// the same sentence; only what depends on a target is not looked at.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/text_table.hpp"
#include "core/model/schedule.hpp"
#include "replay/plan/compile.hpp"
#include "replay/plan/plan.hpp"

namespace omnio::replay {

// The calls of a group, and the bytes that they moved.
struct Traffic {
  std::uint64_t operations = 0;
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t writes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t time_ns = 0;  // in the recording, added over threads

  void add(const Traffic& other);  // sums stay at the largest number
  bool operator==(const Traffic&) const = default;
};

inline constexpr std::size_t kReasonCount = 4;

struct Overview {
  Plan plan;
  std::uint64_t events = 0;  // as a replay counts them: each turn of a repeat by itself
  std::set<std::string> hosts;
  Traffic total;
  std::vector<Traffic> by_rank;
  std::vector<Traffic> by_file;  // by number
  Traffic without_file;
  std::map<std::string_view, Traffic> by_call;
  std::map<int, Traffic> by_phase;  // 0: calls of no phase
  // The events that wait for others, and for how many, by model::Reason. The beginning of the run
  // is not an event.
  std::uint64_t waiting_events = 0;
  std::array<std::uint64_t, kReasonCount> waits{};
  // The first start and the last end of a call in the recording.
  std::optional<std::int64_t> first_start_ns;
  std::int64_t last_end_ns = 0;
  std::int64_t recordedNs() const { return first_start_ns ? last_end_ns - *first_start_ns : 0; }
  // The longest time that a thread needs by itself up to its last call: its `compute` and
  // `communication`, and, where an event has neither these nor waits for others, the time before
  // it, without the recorder's. A delay adds its own time where it has these or does not wait.
  std::int64_t longest_work_ns = 0;
  std::optional<model::ScheduleThread> longest_worker;  // none where no thread needs any
  // Calls that begin, in the recording, before an earlier event of their thread has ended.
  std::uint64_t overlaps = 0;
  model::ScheduleThread first_overlap_thread;
  std::set<std::size_t> mean_lines;  // of the document, whose events have mean times
  // The rest is found only where the order was kept.
  std::vector<std::uint32_t> unused_files;  // no event names them
  // The number of files that several ranks use and the run writes to, and the ranks that use one of
  // them, but neither wait for an event of another rank nor are waited for.
  std::uint64_t shared_files = 0;
  std::vector<int> unordered_ranks;
};

// Memory grows with files, ranks, their descriptors, threads, phases and ids of events, and, unless
// the order of `changes` is kNone, with waits, whose circles are then found, and with the ranks
// that use each file. A loop is counted as it stands; its exact times are added up one by one. What
// only its events tell (compile_loop.cpp, loop_clock.hpp) is written out.
base::Result<Overview> readOverview(const std::filesystem::path& schedule, const Changes& changes);

// The subject of a line of the table.
enum class OverviewBy : std::uint8_t { kRank, kFile, kCall };
inline constexpr base::Word<OverviewBy> kOverviewBys[] = {
    {OverviewBy::kRank, "rank"}, {OverviewBy::kFile, "file"}, {OverviewBy::kCall, "call"}};

// `schedule` is the path as it was given (docs/commands/schedule.md).
std::string textOf(const Overview& overview, const std::filesystem::path& schedule, OverviewBy by);
std::string jsonOf(const Overview& overview, const std::filesystem::path& schedule, OverviewBy by);

// "Order: 2 events wait for others (file 2)", and the end of the line.
std::string waitsText(const Overview& overview);

// A sentence for each thing that a replay takes, but that may not be as it was meant.
std::vector<std::string> warningsOf(const Overview& overview);
std::string checkTextOf(const Overview& overview, const std::filesystem::path& schedule);
std::string checkJsonOf(const Overview& overview, const std::filesystem::path& schedule);

}  // namespace omnio::replay
