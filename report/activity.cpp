#include "report/activity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "core/event/deferred_reads.hpp"
#include "core/event/io_requests.hpp"
#include "statistics/rank_events.hpp"

namespace omnio::report {

// The rows of the picture, and which of them the calls of a rank belong to.
struct ActivityRows {
  std::vector<std::string> names;
  std::size_t most_lanes = 1;
  bool by_thread = false;
  std::vector<std::size_t> first_of_rank;  // by place of the rank; of threads, the first one's row
};

namespace {

using Rank = std::vector<stats::Source>;

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

ActivityRows rowsOf(const tracefile::Trace& trace, const std::vector<Rank>& ranks,
                    const stats::Selection& selection) {
  ActivityRows rows;
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
class Bins final : public stats::RankObserver {
 public:
  Bins(const ActivityRows& rows, const std::vector<Rank>& ranks, const stats::Selection& selection,
       std::int64_t start_ns, const order::IoWaits* waits)
      : rows_(rows),
        ranks_(ranks),
        selection_(selection),
        start_ns_(start_ns),
        waits_(waits),
        time_(std::size(kActivityKinds), TimeBins(rows.names.size())) {}

  void beginRank(std::size_t place, const stats::RankEvents& events) override {
    const Rank& rank = ranks_[place];
    const std::vector<stats::RankEvents::Log>& logs = events.logs();
    first_row_ = rows_.first_of_rank[place];
    covered_ns_.assign(rows_.by_thread ? threadsOf(rank, selection_).size() : 1, 0);
    lane_of_ = lanesOf(rank, logs);
    requests_ = std::vector<event::IoRequests>(logs.size());
    direction_.assign(logs.size(), ActivityKind::kRead);
    later_ = std::vector<event::LaterReads>(rank.size());
    begun_.clear();
    free_.clear();
  }

  void take(const event::Event& event, const stats::RankEvents& events, bool is_selected) override {
    const std::size_t log = events.logNumber();
    const bool is_of_mpi_io = event.row->api == calls::Api::kMpi && requests_[log].take(event);
    const bool is_io = event.row->call_class != calls::Class::kMpiSync || is_of_mpi_io;
    now_ns_ = sinceStart(event.end_ns);
    last_ns_ = std::max(last_ns_, event.end_ns);
    if (event.row->call_class == calls::Class::kRead) direction_[log] = ActivityKind::kRead;
    if (event.row->call_class == calls::Class::kWrite) direction_[log] = ActivityKind::kWrite;
    event::LaterReads& reads = later_[events.log().source_number];
    if (event::LaterReads::begins(event)) {
      // Kept first, since its end may have been seen.
      const std::size_t begun = is_selected ? keep(sinceStart(event.start_ns)) : kNotSelected;
      reads.begin(event, begun, took_);
    } else {
      reads.end(event, took_);
      if (is_selected) addBytes(event);
    }
    if (!is_selected || !is_io || !event::isOfStorage(event)) return;
    const std::int64_t waited_ns =
        waits_ == nullptr
            ? 0
            : waits_->waited(events.log().source->in_trace, events.log().log->thread, event);
    const std::size_t lane = lane_of_[log];
    addTime(event, waited_ns, kindOf(event, direction_[log]),
            first_row_ + (rows_.by_thread ? lane : 0), covered_ns_[lane]);
  }

  void endRank() override {
    for (event::LaterReads& reads : later_) reads.finish(took_);
  }

  void addTo(Activity& activity) const {
    for (std::size_t kind = 0; kind < time_.size(); ++kind) activity.time[kind].add(time_[kind]);
    activity.read_bytes.add(read_bytes_);
    activity.written_bytes.add(written_bytes_);
    activity.end_ns = std::max(activity.end_ns, last_ns_);
  }

 private:
  static constexpr std::size_t kNotSelected = ~std::size_t{0};

  // The place of a read whose bytes come later: that of one which is over, where there is such a
  // one.
  std::size_t keep(std::int64_t start_ns) {
    if (free_.empty()) {
      begun_.push_back(start_ns);
      return begun_.size() - 1;
    }
    const std::size_t place = free_.back();
    free_.pop_back();
    begun_[place] = start_ns;
    return place;
  }

  // By log: the lane within the rank.
  std::vector<std::size_t> lanesOf(const Rank& rank,
                                   const std::vector<stats::RankEvents::Log>& logs) const {
    const auto threads = threadsOf(rank, selection_);
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

  // As IoUnion counts (core/event/io_time.hpp). Up to `covered_ns` the lane's time is in a call
  // that has been counted.
  void addTime(const event::Event& event, std::int64_t waited_ns, ActivityKind kind,
               std::size_t row, std::int64_t& covered_ns) {
    const std::int64_t start_ns = sinceStart(event.start_ns);
    const std::int64_t end_ns = sinceStart(event.end_ns);
    const std::int64_t from_ns = std::max(start_ns, covered_ns);
    if (end_ns <= from_ns) return;
    const std::int64_t came_ns = std::clamp(start_ns + waited_ns, from_ns, end_ns);
    at(ActivityKind::kWaiting).addTime(row, from_ns, came_ns);
    at(kind).addTime(row, came_ns, end_ns);
    covered_ns = end_ns;
  }

  TimeBins& at(ActivityKind kind) { return time_[static_cast<std::size_t>(kind)]; }

  const ActivityRows& rows_;
  const std::vector<Rank>& ranks_;
  const stats::Selection& selection_;
  std::int64_t start_ns_;
  const order::IoWaits* waits_;
  std::int64_t now_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::vector<TimeBins> time_;
  TimeBins read_bytes_{1};
  TimeBins written_bytes_{1};
  // For the rank that is being read:
  std::size_t first_row_ = 0;
  std::vector<std::int64_t> covered_ns_;  // by lane
  std::vector<std::size_t> lane_of_;      // by log
  std::vector<event::IoRequests> requests_;
  std::vector<ActivityKind> direction_;
  std::vector<event::LaterReads> later_;
  std::vector<std::int64_t> begun_;  // when each read whose bytes come later began
  std::vector<std::size_t> free_;    // places of reads that are over
  const event::LaterReads::Take took_ = [this](std::size_t begun, std::uint64_t bytes) {
    if (begun == kNotSelected) return;
    read_bytes_.spread(0, begun_[begun], std::max(begun_[begun], now_ns_), bytes);
    free_.push_back(begun);
  };
};

}  // namespace

ActivityReader::ActivityReader(const tracefile::Trace& trace, const stats::Selection& selection)
    : selection_(selection) {
  // Where the rank does not exist, whoever makes the statistics says so.
  if (const auto processes = trace.processesOf(selection.rank, selection.thread)) {
    ranks_ = stats::byRank(trace, *processes);
  }
  rows_ = std::make_unique<ActivityRows>(rowsOf(trace, ranks_, selection));
  activity_.start_ns = stats::startOfRun(trace);
  activity_.most_lanes = rows_->most_lanes;
  activity_.time.assign(std::size(kActivityKinds), TimeBins(rows_->names.size()));
}

ActivityReader::~ActivityReader() = default;

stats::Observers ActivityReader::observers() {
  return {
      .make = [this](const order::IoWaits* waits) -> std::unique_ptr<stats::RankObserver> {
        return std::make_unique<Bins>(*rows_, ranks_, selection_, activity_.start_ns, waits);
      },
      .collect =
          [this](stats::RankObserver& observer) { static_cast<Bins&>(observer).addTo(activity_); }};
}

Activity ActivityReader::take(FilesOffsets offsets) {
  activity_.offsets = std::move(offsets.files);
  activity_.has_ranks = offsets.has_ranks;
  std::int64_t bin_ns = std::max(activity_.read_bytes.binNs(), activity_.written_bytes.binNs());
  for (const TimeBins& bins : activity_.time) bin_ns = std::max(bin_ns, bins.binNs());
  for (const FileOffsets& file : activity_.offsets) bin_ns = std::max(bin_ns, file.plane.binNs());
  for (FileOffsets& file : activity_.offsets) file.plane.widenTo(bin_ns);
  for (TimeBins& bins : activity_.time) bins.widenTo(bin_ns);
  activity_.read_bytes.widenTo(bin_ns);
  activity_.written_bytes.widenTo(bin_ns);
  activity_.rows = std::move(rows_->names);
  return std::move(activity_);
}

}  // namespace omnio::report
