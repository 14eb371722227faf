// The calls of one rank that statistics count, and its I/O time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "core/event/event.hpp"
#include "core/event/io_requests.hpp"
#include "core/event/io_time.hpp"
#include "core/order/io_waits.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/merged_reader.hpp"
#include "core/tracefile/trace.hpp"
#include "statistics/selection.hpp"

namespace omnio::stats {

// A process, with its places in the trace and among the processes that are read.
struct Source {
  const tracefile::Process* process = nullptr;
  std::size_t in_trace = 0;
  std::size_t number = 0;
};

// The processes of each rank, in order; one without a rank is alone.
std::vector<std::vector<Source>> byRank(const tracefile::Trace& trace,
                                        const std::vector<const tracefile::Process*>& processes);

// The calls of all processes and threads of a rank, at the layer and of the thread that are
// selected, by the time they began. Memory is a chunk for each thread of the rank. Those that
// libraries made below the application's own are what these did: they are left out (at the layer of
// the application).
class RankEvents {
 public:
  struct Log {
    const Source* source = nullptr;
    std::size_t source_number = 0;  // among those of the rank
    const tracefile::Log* log = nullptr;
    event::IoRequests* below = nullptr;  // of the process
  };

  // Takes a POSIX or stream call that was made below one of the application, while events are read:
  // in the order of its log. `source_number`: its process, among those of the rank.
  using TakeBelow = std::function<void(std::size_t source_number, const event::Event& event)>;

  // `sources` and `paths` outlive it. At the POSIX layer there is nothing for `below`.
  RankEvents(const std::vector<Source>& sources, const Selection& selection,
             event::PathTable& paths, TakeBelow below = {});

  const event::Event* next();
  // Where the last event is from, and the number of that log, from 0.
  const Log& log() const { return logs_[events_.source()]; }
  std::size_t logNumber() const { return events_.source(); }

  const std::vector<Log>& logs() const { return logs_; }
  std::uint64_t undecodable() const { return events_.undecodable(); }
  // Calls below those of the application that were left out so far, of the process of that number
  // among those of the rank. At the POSIX layer none are counted.
  std::uint64_t leftOut(std::size_t source_number) const { return left_out_[source_number]; }

 private:
  Layer layer_;
  TakeBelow take_below_;
  std::map<const tracefile::Process*, event::IoRequests> below_;
  std::vector<Log> logs_;
  std::vector<std::uint64_t> left_out_;  // by process of the rank
  tracefile::MergedReader events_;
};

// The I/O time of a rank (core/event/io_time.hpp), call by call.
class RankClock {
 public:
  // Without `waits`, calls are taken not to wait for other ranks.
  RankClock(std::size_t logs, const order::IoWaits* waits) : requests_(logs), waits_(waits) {}

  // With `counts` false, the call is not in the I/O time.
  void take(const event::Event& event, const RankEvents& events, bool counts);

  const event::IoTime& io() const { return union_.total(); }
  // From the first call to the last, whether they count or not.
  std::int64_t runNs() const { return last_ns_ > first_ns_ ? last_ns_ - first_ns_ : 0; }

 private:
  std::vector<event::IoRequests> requests_;  // of MPI-IO, by log
  const order::IoWaits* waits_;
  event::IoUnion union_;
  std::int64_t first_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace omnio::stats
