#include "report/activity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "core/base/progress.hpp"
#include "core/event/deferred_reads.hpp"
#include "core/event/io_requests.hpp"
#include "statistics/rank_events.hpp"

namespace omnio::report {
namespace {

using Rank = std::vector<stats::Source>;

// The rows of the picture, and which of them the calls of a rank belong to.
struct Rows {
  std::vector<std::string> names;
  std::size_t most_lanes = 1;
  bool by_thread = false;
  std::vector<std::size_t> first_of_rank;  // by place of the rank; of threads, the first one's row
};

std::string nameOfRank(const tracefile::Trace& trace, const Rank& rank) {
  const tracefile::Process& process = *rank.front().process;
  const std::optional<int> number = trace.rankOf(process);
  return number ? fmt::format("rank {}", *number) : fmt::format("process {}", process.pid);
}

// Threads of a rank that are selected, each once: (place of the process in the rank, thread).
std::vector<std::pair<std::size_t, std::uint32_t>> threadsOf(const Rank& rank,
                                                             const stats::Selection& selection) {
  std::vector<std::pair<std::size_t, std::uint32_t>> threads;
  for (std::size_t i = 0; i < rank.size(); ++i) {
    for (const tracefile::Log& log : rank[i].process->logs) {
      if (!selection.thread || log.thread == *selection.thread) threads.emplace_back(i, log.thread);
    }
  }
  std::ranges::sort(threads);
  const auto again = std::ranges::unique(threads);
  threads.erase(again.begin(), again.end());
  return threads;
}

Rows rowsOf(const tracefile::Trace& trace, const std::vector<Rank>& ranks,
            const stats::Selection& selection) {
  Rows rows;
  std::size_t threads = 0;
  for (const Rank& rank : ranks) threads += threadsOf(rank, selection).size();
  if (threads <= kMostRows) {
    rows.by_thread = true;
    for (const Rank& rank : ranks) {
      rows.first_of_rank.push_back(rows.names.size());
      const auto of_rank = threadsOf(rank, selection);
      const std::string name = nameOfRank(trace, rank);
      for (const auto& [process, thread] : of_rank) {
        std::string row = name;
        if (rank.size() > 1) row += fmt::format(" process {}", rank[process].process->pid);
        if (of_rank.size() > rank.size()) row += fmt::format(" thread {}", thread);
        rows.names.push_back(std::move(row));
      }
    }
    return rows;
  }
  rows.most_lanes = (ranks.size() + kMostRows - 1) / kMostRows;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    rows.first_of_rank.push_back(i / rows.most_lanes);
    if (i % rows.most_lanes != 0) continue;
    const std::size_t last = std::min(i + rows.most_lanes, ranks.size()) - 1;
    std::string name = nameOfRank(trace, ranks[i]);
    if (last > i) name += " to " + nameOfRank(trace, ranks[last]);
    rows.names.push_back(std::move(name));
  }
  return rows;
}

// The bins of the ranks that one worker reads.
class Bins {
 public:
  Bins(const Rows& rows, std::int64_t start_ns, OffsetCollector& collector,
       const mpi::MpiSharedOffsets& shared)
      : rows_(rows),
        start_ns_(start_ns),
        collector_(collector),
        shared_(shared),
        time_(std::size(kActivityKinds), TimeBins(rows.names.size())) {}

  void read(const Rank& rank, std::size_t place, const stats::Selection& selection,
            const order::IoWaits* waits, User user) {
    event::PathTable paths;
    std::optional<OffsetFollower> offsets;
    if (collector_.size() > 0) {
      offsets.emplace(collector_, processesOf(rank), paths, shared_, user);
    }
    stats::SelectedEvents selected(selection, paths, start_ns_);
    stats::RankEvents events(rank, selection, paths);
    std::vector<Lane> lanes(rows_.by_thread ? threadsOf(rank, selection).size() : 1);
    const std::vector<std::size_t> lane_of = lanesOf(rank, selection, events.logs());
    std::vector<event::IoRequests> requests(events.logs().size());
    std::vector<ActivityKind> direction(events.logs().size(), ActivityKind::kRead);
    std::vector<event::LaterReads> later(rank.size());
    begun_.clear();
    free_.clear();
    std::int64_t now_ns = 0;
    const event::LaterReads::Take took = [&](std::size_t begun, std::uint64_t bytes) {
      if (begun == kNotSelected) return;
      const auto [start_ns, where] = std::exchange(begun_[begun], {});
      free_.push_back(begun);
      read_bytes_.spread(0, start_ns, std::max(start_ns, now_ns), bytes);
      if (offsets) offsets->add(where, start_ns, std::max(start_ns, now_ns), bytes);
    };
    while (const event::Event* const event = events.next()) {
      const std::size_t log = events.logNumber();
      const bool is_of_mpi_io = event->row->api == calls::Api::kMpi && requests[log].take(*event);
      const bool is_io = event->row->call_class != calls::Class::kMpiSync || is_of_mpi_io;
      const bool is_selected = selected.has(*event);
      now_ns = sinceStart(event->end_ns);
      last_ns_ = std::max(last_ns_, event->end_ns);
      if (event->row->call_class == calls::Class::kRead) direction[log] = ActivityKind::kRead;
      if (event->row->call_class == calls::Class::kWrite) direction[log] = ActivityKind::kWrite;
      const OffsetFollower::Region* const where =
          offsets ? &offsets->take(*events.log().source->process, *event) : nullptr;
      event::LaterReads& reads = later[events.log().source_number];
      if (event::LaterReads::begins(*event)) {
        // Kept first, since its end may have been seen.
        const std::size_t begun = is_selected
                                      ? keep({sinceStart(event->start_ns),
                                              where == nullptr ? OffsetFollower::Region{} : *where})
                                      : kNotSelected;
        reads.begin(*event, begun, took);
      } else {
        reads.end(*event, took);
        if (is_selected) addBytes(*event);
        if (is_selected && where != nullptr) {
          offsets->add(*where, sinceStart(event->start_ns), now_ns, event->bytes);
        }
      }
      if (!is_selected || !is_io || !event::isOfStorage(*event)) continue;
      const std::int64_t waited_ns =
          waits == nullptr
              ? 0
              : waits->waited(events.log().source->in_trace, events.log().log->thread, *event);
      const std::size_t row = rows_.first_of_rank[place] + (rows_.by_thread ? lane_of[log] : 0);
      addTime(*event, waited_ns, kindOf(*event, direction[log]), row, lanes[lane_of[log]]);
    }
    for (event::LaterReads& reads : later) reads.finish(took);
  }

  void addTo(Activity& activity) const {
    for (std::size_t kind = 0; kind < time_.size(); ++kind) activity.time[kind].add(time_[kind]);
    activity.read_bytes.add(read_bytes_);
    activity.written_bytes.add(written_bytes_);
    activity.end_ns = std::max(activity.end_ns, last_ns_);
  }

 private:
  static constexpr std::size_t kNotSelected = ~std::size_t{0};
  struct Lane {
    std::int64_t covered_ns = 0;  // up to here its time is in a call that has been counted
  };

  // A read whose bytes come later.
  struct Begun {
    std::int64_t start_ns = 0;
    OffsetFollower::Region where;
  };
  // Its place, that of one which is over where there is such a one.
  std::size_t keep(Begun begun) {
    if (free_.empty()) {
      begun_.push_back(std::move(begun));
      return begun_.size() - 1;
    }
    const std::size_t place = free_.back();
    free_.pop_back();
    begun_[place] = std::move(begun);
    return place;
  }

  static std::vector<const tracefile::Process*> processesOf(const Rank& rank) {
    std::vector<const tracefile::Process*> processes;
    for (const stats::Source& source : rank) processes.push_back(source.process);
    return processes;
  }

  // By log: the lane within the rank.
  std::vector<std::size_t> lanesOf(const Rank& rank, const stats::Selection& selection,
                                   const std::vector<stats::RankEvents::Log>& logs) const {
    const auto threads = threadsOf(rank, selection);
    std::vector<std::size_t> lanes;
    for (const stats::RankEvents::Log& log : logs) {
      const auto at =
          std::ranges::lower_bound(threads, std::pair(log.source_number, log.log->thread));
      lanes.push_back(rows_.by_thread ? static_cast<std::size_t>(at - threads.begin()) : 0);
    }
    return lanes;
  }

  static ActivityKind kindOf(const event::Event& event, ActivityKind direction) {
    switch (event::ioKindOf(*event.row)) {
      case event::IoKind::kData:
        return direction;
      case event::IoKind::kSync:
        return ActivityKind::kSync;
      default:
        return ActivityKind::kMetadata;
    }
  }

  std::int64_t sinceStart(std::int64_t ns) const { return ns > start_ns_ ? ns - start_ns_ : 0; }

  void addBytes(const event::Event& event) {
    if (event.bytes == 0) return;
    TimeBins& bins = event.row->call_class == calls::Class::kWrite ? written_bytes_ : read_bytes_;
    bins.spread(0, sinceStart(event.start_ns), sinceStart(event.end_ns), event.bytes);
  }

  // As IoUnion counts (core/event/io_time.hpp).
  void addTime(const event::Event& event, std::int64_t waited_ns, ActivityKind kind,
               std::size_t row, Lane& lane) {
    const std::int64_t start_ns = sinceStart(event.start_ns);
    const std::int64_t end_ns = sinceStart(event.end_ns);
    const std::int64_t from_ns = std::max(start_ns, lane.covered_ns);
    if (end_ns <= from_ns) return;
    const std::int64_t came_ns = std::clamp(start_ns + waited_ns, from_ns, end_ns);
    at(ActivityKind::kWaiting).addTime(row, from_ns, came_ns);
    at(kind).addTime(row, came_ns, end_ns);
    lane.covered_ns = end_ns;
  }

  TimeBins& at(ActivityKind kind) { return time_[static_cast<std::size_t>(kind)]; }

  const Rows& rows_;
  std::int64_t start_ns_;
  OffsetCollector& collector_;
  const mpi::MpiSharedOffsets& shared_;
  std::int64_t last_ns_ = 0;
  std::vector<TimeBins> time_;
  TimeBins read_bytes_{1};
  TimeBins written_bytes_{1};
  std::vector<Begun> begun_;
  std::vector<std::size_t> free_;  // places of reads that are over
};

mpi::MpiSharedOffsets sharedOffsetsOf(const tracefile::Trace& trace) {
  std::vector<const tracefile::Process*> processes;
  for (const auto& process : trace.processes()) processes.push_back(process.get());
  return mpi::MpiSharedOffsets(processes);
}

User userOf(const tracefile::Trace& trace, const Rank& rank, std::size_t place, bool has_ranks) {
  if (!has_ranks) return kFirstUser + static_cast<User>(place);
  const std::optional<int> number = trace.rankOf(*rank.front().process);
  return number && *number >= 0 ? kFirstUser + static_cast<User>(*number) : kUnrankedUser;
}

}  // namespace

base::Result<Activity> readActivity(const tracefile::Trace& trace,
                                    const stats::Selection& selection, const order::IoWaits* waits,
                                    const std::vector<std::string>& files) {
  const auto processes = trace.processesOf(selection.rank, selection.thread);
  if (!processes) return processes.failure();
  const std::vector<Rank> ranks = stats::byRank(trace, *processes);
  Rows rows = rowsOf(trace, ranks, selection);
  Activity activity;
  activity.start_ns = stats::startOfRun(trace);
  activity.most_lanes = rows.most_lanes;
  activity.time.assign(std::size(kActivityKinds), TimeBins(rows.names.size()));
  const base::ProgressStage stage("reading the activity over time", "events",
                                  tracefile::storedEvents(*processes));
  activity.has_ranks = std::ranges::any_of(ranks, [&](const Rank& rank) {
    return trace.rankOf(*rank.front().process).value_or(-1) >= 0;
  });
  OffsetCollector collector(files);
  const mpi::MpiSharedOffsets shared =
      files.empty() ? mpi::MpiSharedOffsets() : sharedOffsetsOf(trace);
#pragma omp parallel
  {
    Bins own(rows, activity.start_ns, collector, shared);
#pragma omp for schedule(dynamic)
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      own.read(ranks[i], i, selection, waits, userOf(trace, ranks[i], i, activity.has_ranks));
    }
#pragma omp critical
    own.addTo(activity);
  }
  std::int64_t bin_ns = std::max(activity.read_bytes.binNs(), activity.written_bytes.binNs());
  for (const TimeBins& bins : activity.time) bin_ns = std::max(bin_ns, bins.binNs());
  activity.offsets = collector.take();
  for (const FileOffsets& file : activity.offsets) bin_ns = std::max(bin_ns, file.plane.binNs());
  for (FileOffsets& file : activity.offsets) file.plane.widenTo(bin_ns);
  for (TimeBins& bins : activity.time) bins.widenTo(bin_ns);
  activity.read_bytes.widenTo(bin_ns);
  activity.written_bytes.widenTo(bin_ns);
  activity.rows = std::move(rows.names);
  return activity;
}

}  // namespace omnio::report
