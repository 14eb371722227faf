// The report of a replay: docs/formats/replay_report.md.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/schedule.hpp"
#include "core/storage/held_memory.hpp"
#include "core/storage/target_storage.hpp"
#include "replay/launch.hpp"
#include "replay/run/engine.hpp"
#include "replay/target/prepare.hpp"

namespace omnio::replay {

inline constexpr const char* kReportFormat = "omnio-replay-report";
inline constexpr int kReportVersion = 1;
inline constexpr const char* kReportName = "replay.json";  // in the trace directory
inline constexpr const char* kLateKey = "late";            // of the report: Report::isLate()

struct TargetReport {
  std::string name;  // "": the plain one
  std::string directory;
  std::string tree;  // in it: what locations are below
  std::string file_system;
  bool is_adopted = false;
  Prepared prepared;  // in it
};

// An input that was read where the application had it.
struct InPlaceReport {
  std::string location;
  std::string source;
  std::string real;        // where links of that path lead to
  std::uint64_t size = 0;  // as recorded
};

struct Report {
  std::string schedule;
  std::string schedule_digest;        // replay/plan/schedule_digest.hpp
  std::vector<TargetReport> targets;  // at least one
  // The trees that hold the files on nodes, by their paths there; empty: they are in the targets.
  std::vector<std::string> node_trees;
  // The trees in the memory of the nodes, which are gone; what was prepared there, and what the
  // recorded calls moved to and from their files.
  std::vector<std::string> memory_trees;
  Prepared prepared_in_memory;
  model::MemoryUse in_memory;
  std::vector<std::string> adopted_node_trees;  // those of them that were adopted
  std::string trace;                            // empty when the replay was not traced
  model::Timing timing = model::Timing::kDelta;
  model::Order order = model::Order::kAll;
  double network_scale = 1;
  bool write_overwrite = false;
  Origin inputs = Origin::kMade;
  Prepared kept;                    // of the replay before
  std::vector<std::string> remade;  // a sentence for each that was made anew all the same
  std::vector<InPlaceReport> in_place;
  Cache cache = Cache::kCold;
  std::string data = "random";  // Content::word()
  std::string fence;
  int processes = 1;
  int nodes = 1;
  Place place = Place::kRoundRobin;
  std::vector<std::vector<std::uint32_t>> ranks_by_process{};
  bool spins = true;
  Prepared prepared;
  Residency residency;  // of what was prepared, before the clock started
  std::int64_t preparation_ns = 0;
  std::int64_t makespan_ns = 0;  // to the end of the last operation
  bool ranks_meet = false;       // in calls of MPI-IO
  // The share of the makespan that lateness may have stretched it by.
  double late_limit = 0.05;
  Sync sync = Sync::kFinal;
  std::int64_t sync_ns = 0;  // writing back what was left, after the makespan
  Compute compute = Compute::kAuto;
  std::optional<double> computing;  // of think time in the recording; nothing where it is not known
  WaitKind wait = WaitKind::kSpin;
  WaitKind wait_in_mpi = WaitKind::kYield;
  std::vector<storage::TargetStorage> storage;  // one a target
  storage::HeldBytes held;
  std::vector<RankCounts> ranks;
  std::vector<ThreadPlace> threads;
  std::vector<Difference> differences;  // the first ones
  // By phase and rank; empty where calls were not timed one by one (asap).
  std::vector<PhaseIo> io;
  std::optional<std::int64_t> chain_ns;  // core/order/io_chain.hpp; the same

  RankCounts total() const;
  storage::Moved movedByCalls() const;
  // By how much the replayer's own lateness stretched the makespan (pacing.hpp); nothing in asap,
  // where nothing is due. Ranks that meet in calls wait for a late one inside of these, where it
  // cannot be told from the call; there it is the largest stretch of a rank by itself.
  std::optional<std::int64_t> stretchNs() const;
  double stretchShare() const;
  bool isLate() const { return stretchShare() > late_limit; }
  // The I/O time of the replay (core/event/io_time.hpp): that of the rank that has most. Nothing
  // where calls were not timed one by one.
  struct RankIo {
    std::uint32_t rank = 0;
    event::IoTime time;
  };
  std::optional<RankIo> slowestIo() const;
};

// Why the run time of the replay in that directory is not a result.
std::string lateSentence(const std::string& output, std::int64_t stretch_ns,
                         std::int64_t makespan_ns, double limit);

// Encodes the share of one process, for a message between processes of one replay.
// `last`: see Engine::ioByPhase().
std::string encodeShare(const Engine& engine, const std::vector<std::vector<std::int64_t>>& last);
// Adds the shares of all processes. False where the bytes are not shares.
bool addShares(const std::vector<std::string>& shares, Report& report);

std::string jsonOf(const Report& report);
std::string textOf(const Report& report);

}  // namespace omnio::replay
