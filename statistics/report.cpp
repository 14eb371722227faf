#include "statistics/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <map>
#include <utility>

#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/base/text_table.hpp"
#include "core/calls/table.hpp"
#include "core/event/deferred_reads.hpp"
#include "core/mpi/groups.hpp"
#include "core/order/matched_events.hpp"
#include "core/tracefile/file_names.hpp"
#include "statistics/grouping.hpp"
#include "statistics/rank_events.hpp"

namespace omnio::stats {

namespace {

// At the end of the file getline fails and leaves errno as it was, and the event has that errno.
// An errno that reading a line can set itself counts as an error.
bool isEndOfFile(const event::Event& event) {
  if (event.endOfFile()) return true;
  if (!event.failed || !calls::does(*event.row, calls::Effect::kEndKeepsErrno)) return false;
  switch (event.result) {
    case EAGAIN:
    case EBADF:
    case EINTR:
    case EINVAL:
    case EIO:
    case EISDIR:
    case ENOMEM:
    case ENXIO:
    case EOVERFLOW:
    case ESTALE:
    case ETIMEDOUT:
      return false;
    default:
      return true;
  }
}

}  // namespace

void Group::add(const event::Event& event, bool bytes_later) {
  const calls::Class call_class = event.row->call_class;
  const bool error = event.failed && !isEndOfFile(event);
  // An end before a start can only be damage.
  const std::uint64_t time =
      event.end_ns > event.start_ns
          ? static_cast<std::uint64_t>(event.end_ns) - static_cast<std::uint64_t>(event.start_ns)
          : 0;
  times_ns[static_cast<std::size_t>(call_class)].add(time);
  if (call_class == calls::Class::kMpiSync) {
    mpi_sync_ns.add(time);
    if (error) ++mpi_sync_failed;
    return;
  }
  time_ns.add(time);
  const event::IoKind kind = event::ioKindOf(*event.row);
  if (kind == event::IoKind::kMetadata) metadata_ns += time;
  if (kind == event::IoKind::kSync) sync_ns += time;
  if (error) ++failed;
  if (call_class != calls::Class::kRead && call_class != calls::Class::kWrite) return;
  Transfer& transfer = call_class == calls::Class::kRead ? read : write;
  transfer.time_ns.add(time);
  const bool counts_bytes = !error && !bytes_later && event::countsBytes(*event.row);
  if (counts_bytes) transfer.size_bytes.add(event.bytes);
  if (event.at_least) ++transfer.at_least;
  if (!event::onlyBegins(event)) {
    const double bandwidth = counts_bytes ? mibS(event.bytes, time) : 0;
    transfer.addBandwidth(bandwidth, bandwidth);
    return;
  }
  ++transfer.begins;
  transfer.begins_ns += time;
  if (counts_bytes) transfer.begun_bytes += event.bytes;
}

void Transfer::add(const Transfer& other) {
  size_bytes.add(other.size_bytes);
  time_ns.add(other.time_ns);
  at_least += other.at_least;
  begins += other.begins;
  begun_bytes += other.begun_bytes;
  begins_ns += other.begins_ns;
  addBandwidth(other.least_mib_s, other.most_mib_s);
}

void Transfer::addBandwidth(double least, double most) {
  if (most == 0) return;
  least_mib_s = most_mib_s == 0 ? least : std::min(least_mib_s, least);
  most_mib_s = std::max(most_mib_s, most);
}

void Group::add(const Group& other) {
  for (std::size_t c = 0; c < times_ns.size(); ++c) times_ns[c].add(other.times_ns[c]);
  failed += other.failed;
  mpi_sync_failed += other.mpi_sync_failed;
  read.add(other.read);
  write.add(other.write);
  time_ns.add(other.time_ns);
  mpi_sync_ns.add(other.mpi_sync_ns);
  metadata_ns += other.metadata_ns;
  sync_ns += other.sync_ns;
  pattern.add(other.pattern);
  ranks += other.ranks;
  for (const std::uint32_t place : other.rank_places) {
    if (rank_places.size() < kMostPlaces) rank_places.push_back(place);
  }
}

void Group::join(Group other) {
  const std::uint64_t most_ranks = std::max(ranks, other.ranks);
  const bool are_all = ranks == rank_places.size() && other.ranks == other.rank_places.size();
  std::vector<std::uint32_t> places = rank_places;
  places.insert(places.end(), other.rank_places.begin(), other.rank_places.end());
  std::ranges::sort(places);
  places.erase(std::ranges::unique(places).begin(), places.end());
  add(other);
  ranks = are_all ? places.size() : most_ranks;  // at the least
  places.resize(std::min(places.size(), kMostPlaces));
  rank_places = std::move(places);
  other_names.push_back(std::move(other.name));
}

namespace {

constexpr base::Word<By> kNames[] = {
    {By::kFile, "file"}, {By::kRank, "rank"}, {By::kThread, "thread"}, {By::kCall, "call"}};

// The findings of one rank.
struct OfRank {
  std::optional<RankTime> time;  // none without a rank
  double recording_ns = 0;
};

// Whether ranks may have waited for each other in calls of MPI-IO: where several opened a file
// together.
bool mayWait(const tracefile::Trace& trace) {
  const mpi::MpiGroups groups = order::mpiGroupsOf(trace);
  for (mpi::GroupIndex i = 0; i < groups.size(); ++i) {
    const mpi::RankGroup& group = groups.group(i);
    if (group.kind == "file" && group.ranks() > 1) return true;
  }
  return false;
}

RankTime timeOf(int rank, const RankClock& clock) {
  return {.rank = rank, .io = clock.io(), .run_ns = clock.runNs()};
}

// Reads ranks and puts their calls into groups of one or more kinds. Several objects may share the
// ranks; add() puts them together.
class Accumulator {
 public:
  // `run_start_ns` matters to a window alone. The arguments outlive it.
  Accumulator(const tracefile::Trace& trace, const std::vector<By>& kinds,
              const Selection& selection, const std::optional<PatternOptions>& patterns,
              std::int64_t run_start_ns, const order::IoWaits* waits)
      : trace_(trace),
        selection_(selection),
        waits_(waits),
        selected_(selection, paths_, run_start_ns) {
    if (patterns) patterns_.emplace(paths_, patterns->alignment_bytes);
    for (const By by : kinds) groupings_.emplace_back(by, trace, paths_, selection.depth);
    if (selection.depth == 0 && std::ranges::find(kinds, By::kFile) != kinds.end()) {
      names_.emplace(paths_);
    }
  }
  Accumulator(const Accumulator&) = delete;  // groupings hold its paths
  Accumulator& operator=(const Accumulator&) = delete;

  // The rank of that place; `observer` may be null.
  OfRank read(const std::vector<Source>& sources, std::size_t place, RankObserver* observer) {
    const std::optional<int> rank = trace_.rankOf(*sources.front().process);
    std::vector<OfProcess> processes;
    std::vector<const tracefile::Process*> all;
    for (const Source& source : sources) {
      processes.emplace_back(*source.process);
      all.push_back(source.process);
    }
    RankEvents::TakeBelow below;
    if (patterns_) {
      patterns_->beginRank(all);
      below = [&](std::size_t source, const event::Event& event) {
        patterns_->take(*all[source], event, selected_.has(event));
      };
    }
    RankEvents events(sources, selection_, paths_, below);
    for (Grouping& grouping : groupings_) grouping.beginRank(rank, place, events.logs());
    begun_.clear();
    RankClock clock(events.logs().size(), waits_);
    if (observer != nullptr) observer->beginRank(place, events);
    while (const event::Event* const event = events.next()) {
      const bool is_selected = selected_.has(*event);
      if (names_) names_->take(*events.log().source->process, *event);
      clock.take(*event, events, is_selected);
      if (observer != nullptr) observer->take(*event, events, is_selected);
      OfProcess& process = processes[events.log().source_number];
      if (is_selected) ++process.events;
      if (patterns_ && event->row->api != calls::Api::kMpi) {
        patterns_->take(*events.log().source->process, *event, is_selected);
      }
      count(*event, events.logNumber(), is_selected, process.later);
    }
    if (observer != nullptr) observer->endRank();
    OfRank told;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      OfProcess& process = processes[i];
      process.later.finish(took_);
      // Whether calls below belong to a path or a window is not looked at.
      const bool has_others = selection_.patterns.empty() && !selection_.window;
      const std::uint64_t calls_below = has_others ? events.leftOut(i) : 0;
      events_below_ += calls_below;
      told.recording_ns += static_cast<double>(process.events + calls_below) *
                           sources[i].process->info.eventCostNs();
    }
    if (patterns_) {
      patterns_->endRank([&](event::FileId file, const AccessPattern& pattern) {
        for (Grouping& grouping : groupings_) grouping.addPattern(file, pattern);
      });
    }
    undecodable_ += events.undecodable();
    if (rank) told.time = timeOf(*rank, clock);
    return told;
  }

  std::size_t size() const {
    std::size_t most = 0;
    for (const Grouping& grouping : groupings_) most = std::max(most, grouping.size());
    return most;
  }

  void add(const Accumulator& other) {
    for (std::size_t i = 0; i < groupings_.size(); ++i) groupings_[i].add(other.groupings_[i]);
    if (names_) names_->add(*other.names_);
    events_below_ += other.events_below_;
    undecodable_ += other.undecodable_;
  }

  void finish(std::vector<Report>& reports) {
    if (names_) {
      const std::vector<event::FileId> standing = names_->standing();
      for (Grouping& grouping : groupings_) grouping.joinFiles(standing);
    }
    for (std::size_t i = 0; i < reports.size(); ++i) {
      Report& report = reports[i];
      report.groups = groupings_[i].take();
      for (const Group& group : report.groups) report.total.add(group);
      report.total.name = "total";
      report.events_below = events_below_;
      tracefile::addUndecodable(report.wholeness, undecodable_);
    }
  }

 private:
  // Counted by process, since the numbers of requests are those of the process.
  struct OfProcess {
    explicit OfProcess(const tracefile::Process& process)
        : later(process.logs.size() == 1 ? event::LaterReads::Order::kByTime
                                         : event::LaterReads::Order::kByLog) {}
    event::LaterReads later;
    std::uint64_t events = 0;
  };
  static constexpr std::size_t kNoPlace = std::numeric_limits<std::size_t>::max();

  void count(const event::Event& event, std::size_t log_number, bool is_selected,
             event::LaterReads& later) {
    const bool bytes_later = event::LaterReads::begins(event);
    const std::size_t begun = bytes_later && is_selected ? begun_.size() : kNoPlace;
    for (std::size_t i = 0; is_selected && i < groupings_.size(); ++i) {
      const std::size_t place = groupings_[i].placeOf(event, log_number);
      groupings_[i].at(place).add(event, bytes_later);
      if (bytes_later) begun_.push_back(place);
    }
    if (bytes_later) {
      later.begin(event, begun, took_);
    } else {
      later.end(event, took_);
    }
  }

  const event::LaterReads::Take took_ = [this](std::size_t begun, std::uint64_t bytes) {
    for (std::size_t i = 0; begun != kNoPlace && i < groupings_.size(); ++i) {
      Transfer& read = groupings_[i].at(begun_[begun + i]).read;
      read.size_bytes.add(bytes);
      read.begun_bytes += bytes;
    }
  };
  const tracefile::Trace& trace_;
  const Selection& selection_;
  const order::IoWaits* waits_;
  event::PathTable paths_;
  SelectedEvents selected_;
  std::optional<tracefile::FileNames> names_;  // where groups are files
  std::vector<Grouping> groupings_;
  std::optional<PatternCounter> patterns_;
  std::vector<std::size_t> begun_;  // of each read whose bytes come later, its place by grouping
  std::uint64_t events_below_ = 0;
  std::uint64_t undecodable_ = 0;
};

// Reads all ranks, several at a time. Each worker has groups of its own; where these become too
// many, they are added to those of all at once.
void readAll(const tracefile::Trace& trace, const std::vector<std::vector<Source>>& ranks,
             const Observers& observers, std::vector<Report>& reports) {
  constexpr std::size_t kMostOwn = std::size_t{1} << 14;
  const Selection& selection = reports.front().selection;
  std::vector<By> kinds;
  for (const Report& report : reports) kinds.push_back(report.by);
  const std::int64_t start_ns = selection.window ? startOfRun(trace) : 0;
  const std::optional<PatternOptions>& patterns = reports.front().patterns;
  std::vector<const tracefile::Process*> processes;
  for (const std::vector<Source>& rank : ranks) {
    for (const Source& source : rank) processes.push_back(source.process);
  }
  if (mayWait(trace)) {
    const base::ProgressStage stage("finding collective waits", "events",
                                    tracefile::storedEvents(processes));
    const auto waits = std::make_shared<const order::IoWaits>(trace);
    for (Report& report : reports) report.waits = waits;
  }
  const order::IoWaits* const waits = reports.front().waits.get();
  Accumulator all(trace, kinds, selection, patterns, start_ns, waits);
  std::vector<OfRank> told(ranks.size());
  const base::ProgressStage stage("reading the trace", "events",
                                  tracefile::storedEvents(processes));
#pragma omp parallel
  {
    std::optional<Accumulator> own;
    const auto give = [&] {
#pragma omp critical
      all.add(*own);
      own.reset();
    };
    const std::unique_ptr<RankObserver> observer = observers.make ? observers.make(waits) : nullptr;
#pragma omp for schedule(dynamic)
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (!own) own.emplace(trace, kinds, selection, patterns, start_ns, waits);
      told[i] = own->read(ranks[i], i, observer.get());
      if (own->size() > kMostOwn) give();
    }
    if (own) give();
    if (observer) {
#pragma omp critical
      observers.collect(*observer);
    }
  }
  for (Report& report : reports) {
    for (const OfRank& rank : told) {
      report.recording_ns += rank.recording_ns;
      if (rank.time) report.ranks.push_back(*rank.time);
    }
  }
  all.finish(reports);
}

}  // namespace

std::string_view nameOf(By by) { return base::wordOf(kNames, by); }

std::optional<By> byName(std::string_view name) { return base::valueOf(kNames, name); }

const RankTime& slowestOf(const std::vector<RankTime>& ranks) {
  return *std::ranges::max_element(ranks, {}, [](const RankTime& rank) { return rank.io.total(); });
}

double averageIoNs(const std::vector<RankTime>& ranks) {
  std::int64_t sum = 0;
  for (const RankTime& rank : ranks) sum += rank.io.total();
  return ranks.empty() ? 0 : static_cast<double>(sum) / static_cast<double>(ranks.size());
}

base::Result<std::vector<Report>> makeReports(const tracefile::Trace& trace,
                                              const std::vector<By>& kinds,
                                              const Selection& selection,
                                              const std::optional<PatternOptions>& patterns,
                                              const Observers& observers) {
  const base::Result<std::vector<const tracefile::Process*>> processes =
      trace.processesOf(selection.rank, selection.thread);
  if (!processes) return processes.failure();
  Report common;
  common.trace = trace.directory().native();
  common.selection = selection;
  common.patterns = patterns;
  common.wholeness = tracefile::assess(trace);
  common.clocks = trace.clocks();
  std::vector<Report> reports(kinds.size(), common);
  for (std::size_t i = 0; i < kinds.size(); ++i) reports[i].by = kinds[i];
  readAll(trace, byRank(trace, *processes), observers, reports);
  return reports;
}

std::shared_ptr<const order::IoWaits> waitsOf(const tracefile::Trace& trace, const Report& report) {
  return report.waits ? report.waits : std::make_shared<const order::IoWaits>(trace);
}

base::Result<Report> makeReport(const tracefile::Trace& trace, By by, const Selection& selection,
                                const std::optional<PatternOptions>& patterns) {
  base::Result<std::vector<Report>> reports = makeReports(trace, {by}, selection, patterns);
  if (!reports) return reports.failure();
  return std::move(reports->front());
}

}  // namespace omnio::stats
