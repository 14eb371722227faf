// Replays the threads of one process: one real thread for each recorded one.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/schedule.hpp"
#include "replay/issue/backend.hpp"
#include "replay/plan/plan.hpp"
#include "replay/run/flags.hpp"
#include "replay/run/io_account.hpp"
#include "replay/run/pacing.hpp"
#include "replay/run/sleeper.hpp"
#include "replay/target/tree.hpp"

namespace omnio::replay {

// How late operations started: sum, maximum and a histogram fine enough for percentiles. Buckets
// double eight times slower than powers of two: a percentile is at most 12.5 % too large.
class Lateness {
 public:
  // Negative: it started before it was due by the resolution of the clock; counts as 0.
  void add(std::int64_t late_ns);
  void merge(const Lateness& other);

  std::uint64_t count() const { return count_; }
  std::int64_t max() const { return max_; }
  double mean() const;
  // The smallest bucket's upper end that `share` (0 to 1) of all do not exceed, max() at most.
  std::int64_t percentile(double share) const;

 private:
  static constexpr std::size_t kSubBits = 3;
  static constexpr std::size_t kBuckets = (64 - kSubBits) << kSubBits;
  static std::size_t bucketOf(std::uint64_t value);
  static std::uint64_t upperEnd(std::size_t bucket);

  std::uint64_t count_ = 0;
  std::int64_t max_ = 0;
  double sum_ = 0;
  std::array<std::uint64_t, kBuckets> buckets_{};
};

inline constexpr std::size_t kKeptDifferences = 20;

struct Difference {
  std::uint32_t rank = 0;
  std::uint32_t thread = 0;
  std::uint64_t event = 0;  // by place in the thread, from 0
  std::string call;
  std::string location;
  std::string expected;
  std::string got;
};

// The counts of a rank's threads.
struct RankCounts {
  std::uint32_t rank = 0;
  std::uint64_t operations = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::int64_t io_ns = 0;  // summed over its operations
  // Of its first and last operation, since the beginning of the replay.
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();  // without an operation
  std::int64_t end_ns = 0;
  std::int64_t on_time_end_ns = 0;  // of its last operation (pacing.hpp); not in asap
  std::uint64_t negative_gaps = 0;
  std::uint64_t differences = 0;
  std::array<std::uint64_t, kSubstituteCount> substitutes{};
  Lateness lateness;

  void merge(const RankCounts& other);
};

struct ThreadPlace {
  std::uint32_t rank = 0;
  std::uint32_t thread = 0;
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
};

class Engine {
 public:
  struct Settings {
    const Plan& plan;
    const Paths& paths;
    std::filesystem::path programs;
    const Fence& fence;
    Flags& flags;
    bool may_spin = true;
    WaitKind wait = WaitKind::kSpin;
    WaitKind wait_in_mpi = WaitKind::kYield;
    Compute compute = Compute::kSleep;
    Content content{};  // that writes carry
    // The replay is traced: before the clock starts, the tracer makes the log and each thread's
    // ring.
    bool is_traced = false;
    // Of the one rank that this process replays, where the schedule has calls of MPI-IO.
    MpiCalls* mpi = nullptr;
    // A thread that is in a call that ranks meet in for longer than this is taken for one that
    // waits.
    std::int64_t longest_meeting_ns = INT64_MAX;
    // Is told of raised flags that ranks on other nodes wait for; called by replay threads.
    std::function<void(FlagPass raised, RaisedEnd end)> announce;
    // Waits for a flag and returns when the event ended; none: Flags::wait().
    std::function<RaisedEnd(FlagPass awaited, WaitKind kind)> await;
  };

  // For the threads of these ranks.
  Engine(Settings settings, const std::vector<std::uint32_t>& ranks);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  // Opens what was open before, makes buffers, starts the threads, which then wait for go(). Fails
  // when one cannot be started.
  base::Result<void> start();
  // The beginning of the replay on CLOCK_MONOTONIC.
  void go(std::int64_t beginning_ns);
  // True when all threads have ended, or one of them has failed.
  bool isDone() const;
  // Why it cannot go on, when a thread failed.
  std::optional<base::Failure> failure() const;
  // A number that changes as long as anything moves: calls end, threads do not wait for others.
  std::uint64_t progress() const;
  // For people: which threads wait for which events of others, the first ones.
  std::string waits() const;
  // Joins the threads; writes out streams that the application left open.
  void finish();

  const std::vector<RankCounts>& counts() const { return counts_; }
  const std::vector<ThreadPlace>& places() const { return places_; }
  const std::vector<Difference>& differences() const { return differences_; }

  // After finish(). The meetings of this process by group, where it replays one rank.
  const std::vector<std::vector<Meeting>>& meetings() const { return meetings_of_group_; }
  // The I/O of each rank, by phase. `last`: when the last rank came to each of the meetings, of
  // those that came before this one left. Nothing where calls were not timed one by one (asap).
  std::vector<PhaseIo> ioByPhase(const std::vector<std::vector<std::int64_t>>& last) const;
  // The words (order::ThreadChain) of each thread. Nothing in asap, and where one of them had more
  // steps than it holds (knowsChain()).
  bool knowsChain() const;
  std::vector<std::vector<std::int64_t>> chains() const;

 private:
  struct Thread;
  struct Lane;

  void fail(const Thread& thread, const std::string& reason);
  void run(Thread& thread);
  void perform(Thread& thread, const Instruction& instruction);
  void performNext(Thread& thread, const Instruction& instruction);
  void endStretch(Thread& thread);
  void count(Thread& thread, const Instruction& instruction, const Outcome& outcome);
  Outcome makeCall(Thread& thread, const Instruction& instruction);
  void account(Thread& thread, const Instruction& instruction, const Outcome& outcome,
               std::uint64_t bytes);
  void raise(Thread& thread, const Instruction& instruction);
  // Returns when the event ended.
  RaisedEnd waitFor(Thread& thread, FlagPass awaited, WaitKind kind);
  void passUntil(Thread& thread, std::int64_t at_ns, std::int64_t in_mpi_ns) const;
  static void* entry(void* thread);
  base::Result<void> reserveLanes();
  // False where memory is missing; then the replay has failed.
  bool takeBuffers(Thread& thread);
  Lane* spareLane(Thread& thread);

  Settings settings_;
  std::vector<std::uint32_t> ranks_;
  std::vector<std::unique_ptr<Descriptors>> descriptors_;  // by place in ranks_
  std::vector<std::unique_ptr<Requests>> requests_;        // the same
  std::vector<std::unique_ptr<Mappings>> mappings_;        // the same
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::mutex spare_mutex_;  // of what follows
  std::vector<std::unique_ptr<Lane>> spare_lanes_;
  // In the untraced replay, on one node, of a program of one thread that had nothing open from the
  // start: the thread has a table of descriptors of its own. In one that threads share, the kernel
  // counts who uses a descriptor, a tenth of what a small write costs.
  std::atomic<bool> has_own_descriptors_{false};
  std::atomic<std::int64_t> beginning_ns_{0};
  mutable std::atomic<std::uint32_t> started_{0};
  mutable std::atomic<std::uint32_t> running_{0};
  mutable std::mutex mutex_;  // of what follows
  std::optional<base::Failure> failure_;
  std::vector<RankCounts> counts_;
  std::vector<ThreadPlace> places_;
  std::vector<Difference> differences_;
  // Meetings of all groups, in the order in which this process came to them: group, place in it.
  std::vector<std::pair<std::int32_t, std::uint32_t>> meetings_;
  std::vector<std::vector<Meeting>> meetings_of_group_;
};

}  // namespace omnio::replay
