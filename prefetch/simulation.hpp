// What prefetching would do for a run, from its trace: what would have been fetched, used and
// hidden, before anyone runs it. What is fetched is decided by Planner and FetchedRanges, as beside
// a running job (prefetch/helper.hpp); when it is there is simulated:
//
// - A request is made `delay_ns` after the end of the operation that it follows from. It takes as
//   long as reads of its size took in this trace on average, of those that did not go straight on;
//   bandwidth is not shared.
// - A read whose bytes are there by its begin takes as long as a copy from the page cache. One
//   whose bytes are under way waits for the rest. Others take as long as recorded, and none takes
//   longer.
// - What follows in a thread comes earlier by what was saved before it. What is between two of its
//   operations (computing) takes as long as recorded, also where the thread waits for others in it;
//   and, for other ratios of computing to reading, so many times as long in all threads.
//
// Ranks of a node are simulated together, since they share what is fetched: at most kMostTogether
// of them; groups of ranks side by side. Memory: that of Planner for each process of a group, a
// chunk for each of their threads, and the files that are open. The trace is read twice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/trace.hpp"
#include "predict/operations/rank_models.hpp"

namespace omnio::prefetch {

constexpr std::array<double, 5> kRatios = {0.25, 0.5, 1, 2, 4};  // of computing to reading
// The first clock goes as recorded, one more by each ratio.
constexpr std::size_t kClocks = 1 + kRatios.size();
constexpr std::int64_t kUsualDelayNs = 200'000;
// A copy from the page cache: usual figures, not measured.
constexpr double kCopyNs = 10'000;
constexpr double kCopyBytesPerNs = 4;
constexpr std::size_t kMostTogether = 64;

// Of a rank, or of all: sums, but for the times of the run, which are those of the slowest rank.
struct Gain {
  struct Clock {
    double computing_ns = 0;
    double hidden_ns = 0;  // of the time of reads
    double run_ns = 0;     // from the first operation of the trace to the last one
    double prefetched_run_ns = 0;
  };
  std::uint64_t operations = 0;
  std::uint64_t reads = 0;
  std::int64_t read_bytes = 0;
  double read_ns = 0;
  std::uint64_t requests = 0;
  std::int64_t fetched_bytes = 0;  // that its planner asked for
  std::int64_t used_bytes = 0;     // that it read, whichever rank of the node asked for them
  std::array<Clock, kClocks> clocks;

  // Of a rank, what others used is wasted.
  std::int64_t wastedBytes() const {
    return used_bytes < fetched_bytes ? fetched_bytes - used_bytes : 0;
  }
  void add(const Gain& other);
};

struct RankGain {
  std::string name;  // "3", or that of a process without a rank
  std::optional<int> rank;
  Gain gain;
};

struct Simulation {
  std::string trace;  // the directory, as it was given
  tracefile::Wholeness wholeness;
  std::int64_t delay_ns = 0;
  std::vector<RankGain> ranks;  // in order, those with operations
  Gain total;
};

// Simulates one rank, or all. Models go on with what they learnt in an earlier run, unless that is
// nullptr. Fails where the rank does not exist, where nothing is read, and where the earlier run is
// another application's.
base::Result<Simulation> simulate(const tracefile::Trace& trace, std::optional<int> rank,
                                  std::int64_t delay_ns,
                                  const predict::EarlierRun* earlier = nullptr);

// Tables for people.
std::string textOf(const Simulation& simulation);
// A document for programs: docs/formats/prediction.md.
std::string jsonOf(const Simulation& simulation);

}  // namespace omnio::prefetch
