// What a replay of a schedule would do, without a target: `omnio schedule`. The schedule is read by
// the reader and the compiler of a replay, so what a replay refuses is refused here, with the same
// sentence; only what depends on a target is not looked at.
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

  void add(const Traffic& other);
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
  std::uint64_t waiting_events = 0;
  std::array<std::uint64_t, kReasonCount> waits{};  // by model::Reason
  // Of the calls, in the recording.
  std::optional<std::int64_t> first_start_ns;
  std::int64_t last_end_ns = 0;
  // The thread that needs the longest time by itself: its `compute` and `communication`, and the
  // time between its operations where the schedule neither has these nor a wait.
  std::int64_t longest_work_ns = 0;
  std::optional<model::ScheduleThread> longest_worker;  // none where no thread needs any
  // Events that begin, in the recording, before an earlier one of their thread has ended.
  std::uint64_t overlaps = 0;
  model::ScheduleThread first_overlap;
  std::vector<std::uint32_t> unused_files;  // that no event names
  std::uint64_t shared_files = 0;           // that several ranks use, one of which writes
  // That neither wait for an event of another rank nor are waited for. Only where the order was
  // kept.
  std::vector<int> unordered_ranks;
};

// Memory grows with files, ranks and threads, and, unless `order` is kNone, with the events that
// wait or are waited for, whose circles are then found.
base::Result<Overview> readOverview(const std::filesystem::path& schedule, model::Order order);

// What a line of the table is about.
enum class OverviewBy : std::uint8_t { kRank, kFile, kCall };
inline constexpr base::Word<OverviewBy> kOverviewBys[] = {
    {OverviewBy::kRank, "rank"}, {OverviewBy::kFile, "file"}, {OverviewBy::kCall, "call"}};

// `schedule` is the path as it was given (docs/commands/schedule.md).
std::string textOf(const Overview& overview, const std::filesystem::path& schedule, OverviewBy by);
std::string jsonOf(const Overview& overview, const std::filesystem::path& schedule, OverviewBy by);

// What a replay takes, but may not be what was meant: a sentence each.
std::vector<std::string> warningsOf(const Overview& overview);
std::string checkTextOf(const Overview& overview, const std::filesystem::path& schedule);
std::string checkJsonOf(const Overview& overview, const std::filesystem::path& schedule);

}  // namespace omnio::replay
