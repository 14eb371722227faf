// A trace directory becomes a schedule.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/event/event.hpp"
#include "core/model/schedule.hpp"
#include "core/model/schedule_reader.hpp"
#include "core/model/schedule_writer.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/trace.hpp"
#include "preprocess/files/location.hpp"
#include "preprocess/filter_rule.hpp"

namespace omnio::preprocess {

// Tells the phase of a step. `process`: by place in the trace; `thread`, `lane`: of its log; the
// step is the n-th, from 0, of those that a reader at the layer of MPI gives of that log.
class PhaseOfStep {
 public:
  PhaseOfStep() = default;
  PhaseOfStep(const PhaseOfStep&) = delete;
  PhaseOfStep& operator=(const PhaseOfStep&) = delete;
  virtual ~PhaseOfStep() = default;
  // 0: none. Steps of a thread come in order.
  virtual int phaseOf(std::size_t process, std::uint32_t thread, std::uint64_t step,
                      const event::Event& event) const = 0;
};

struct Settings {
  model::Timing timing = model::Timing::kDelta;
  model::Order order = model::Order::kAll;
  // kMpi: calls of MPI-IO as such, in place of the POSIX calls that the library made for them.
  event::IoLayer layer = event::IoLayer::kPosix;
  // The phases of steps; nullptr: not asked for.
  const PhaseOfStep* phases = nullptr;
  double size_scale = 1;  // of files that no pattern of size_scales matches
  // The last one whose pattern matches a file decides (size_rules.hpp).
  std::vector<model::SizeScale> size_scales{};
  std::uint64_t keep_below = 0;  // bytes; requests of fewer keep their sizes
  double time_scale = 1;
  bool write_overwrite = false;
  // Makes a schedule in `dt` also where the counterparts of MPI calls that may have waited are
  // missing.
  bool partial = false;
  FilterRules filters{};
  model::ScheduleForm form{};
  // Reads the schedule again when it is written, and fails where it does not say what was written.
  bool check = false;
  bool chain = false;  // Summary has the chain of the recorded run
  std::vector<MapRule> map{};
  // Absolute paths of directories that all nodes have in common, whatever their mounts say.
  std::vector<std::string> shared{};
};

struct Summary {
  std::int64_t begin_ns = 0;  // time 0 of the schedule, as the trace has it
  int ranks = 0;
  std::size_t threads = 0;
  std::size_t files = 0;
  std::size_t files_on_nodes = 0;  // that not all nodes had in common
  model::MemoryUse in_memory;      // of nodes
  std::uint64_t events = 0;
  std::uint64_t edges = 0;                // waits for events
  std::uint64_t mpi_events = 0;           // calls that order ranks
  std::uint64_t mpi_unmatched = 0;        // of these, such whose counterpart is missing
  std::uint64_t early = 0;                // delays that count as 0, since clocks of hosts differ
  std::int64_t early_most_ns = 0;         // the largest of these differences
  std::uint64_t bytes_recorded = 0;       // that calls moved
  std::uint64_t bytes_scaled = 0;         // that they move in the schedule
  std::vector<std::string> left_out;      // in words
  std::vector<std::string> unused_rules;  // of the filters, which were for no call
  model::WrittenSchedule written;
  std::optional<std::int64_t> chain_ns;  // core/order/io_chain.hpp
};

// Reads the trace three times, with filters up to five times, and writes the schedule. Fails, with
// nothing left behind, when the trace holds no I/O that could be replayed, the schedule cannot be
// written, or it would keep time that ranks waited for calls that the trace does not have.
base::Result<Summary> preprocess(const tracefile::Trace& trace,
                                 const tracefile::Wholeness& wholeness, const Settings& settings,
                                 const std::filesystem::path& schedule);

struct SchedulePass {
  model::ScheduleSink& sink;  // does not complain
  std::string_view stage;     // for the line of progress: "writing the schedule"
};

// The same schedule for those who need no document: each pass gets the whole of it, one pass after
// the other, and each reads the trace once more. Summary is that of the last pass, without
// `written`.
base::Result<Summary> passSchedule(const tracefile::Trace& trace,
                                   const tracefile::Wholeness& wholeness, const Settings& settings,
                                   std::span<const SchedulePass> passes);

}  // namespace omnio::preprocess
