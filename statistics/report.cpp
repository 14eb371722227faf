#include "statistics/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/calls/table.hpp"
#include "core/event/deferred_reads.hpp"
#include "core/order/io_waits.hpp"
#include "core/wire/info.hpp"
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
  ++operations[static_cast<std::size_t>(call_class)];
  const bool error = event.failed && !isEndOfFile(event);
  // An end before a start can only be damage.
  const std::uint64_t time =
      event.end_ns > event.start_ns
          ? static_cast<std::uint64_t>(event.end_ns) - static_cast<std::uint64_t>(event.start_ns)
          : 0;
  if (call_class == calls::Class::kMpiSync) {
    mpi_sync_ns.add(time);
    if (error) ++mpi_sync_failed;
    return;
  }
  time_ns.add(time);
  if (error) ++failed;
  if (call_class != calls::Class::kRead && call_class != calls::Class::kWrite) return;
  Transfer& transfer = call_class == calls::Class::kRead ? read : write;
  transfer.time_ns.add(time);
  const bool counts_bytes = !error && !bytes_later && event::countsBytes(*event.row);
  if (counts_bytes) transfer.size_bytes.add(event.bytes);
  if (!event::onlyBegins(event)) return;
  ++transfer.begins;
  transfer.begins_ns += time;
  if (counts_bytes) transfer.begun_bytes += event.bytes;
}

void Transfer::add(const Transfer& other) {
  size_bytes.add(other.size_bytes);
  time_ns.add(other.time_ns);
  begins += other.begins;
  begun_bytes += other.begun_bytes;
  begins_ns += other.begins_ns;
}

void Group::add(const Group& other) {
  for (std::size_t c = 0; c < operations.size(); ++c) operations[c] += other.operations[c];
  failed += other.failed;
  mpi_sync_failed += other.mpi_sync_failed;
  read.add(other.read);
  write.add(other.write);
  time_ns.add(other.time_ns);
  mpi_sync_ns.add(other.mpi_sync_ns);
}

namespace {

constexpr base::Word<By> kNames[] = {
    {By::kFile, "file"}, {By::kRank, "rank"}, {By::kThread, "thread"}, {By::kCall, "call"}};

// The processes of each rank, in order; one without a rank is alone.
std::vector<std::vector<Source>> byRank(const tracefile::Trace& trace,
                                        const std::vector<const tracefile::Process*>& processes) {
  std::map<const tracefile::Process*, std::size_t> places;
  for (std::size_t i = 0; i < trace.processes().size(); ++i) {
    places[trace.processes()[i].get()] = i;
  }
  std::vector<std::vector<Source>> ranks;
  std::map<int, std::size_t> index;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const std::optional<int> rank = trace.rankOf(*processes[i]);
    std::size_t place = ranks.size();
    if (rank) place = index.try_emplace(*rank, place).first->second;
    if (place == ranks.size()) ranks.emplace_back();
    ranks[place].push_back(
        {.process = processes[i], .in_trace = places.at(processes[i]), .number = i});
  }
  return ranks;
}

// Reads the chosen processes, rank by rank. A group is found by a number: of the file, of the call,
// or of the rank or thread that an event is of.
class Accumulator {
 public:
  Accumulator(const tracefile::Trace& trace, By by, const Selection& selection)
      : trace_(trace),
        by_(by),
        selection_(selection),
        selected_(selection, paths_, selection.window ? startOfRun(trace) : 0) {}

  void read(const std::vector<std::vector<Source>>& ranks) {
    bool may_wait = false;
    for (const std::vector<Source>& rank : ranks) may_wait = readRank(rank) || may_wait;
    if (!may_wait) return;
    const order::IoWaits waits(trace_);
    ranks_.clear();
    for (const std::vector<Source>& rank : ranks) readTimes(rank, waits);
  }

  void finish(Report& report) {
    for (const auto& [key, index] : index_) {
      if (by_ == By::kRank) {
        groups_[index].name = key.first == kNoRank ? "none" : fmt::format("{}", key.first);
      }
      report.groups.push_back(std::move(groups_[index]));
    }
    if (by_ == By::kFile || by_ == By::kCall) {
      for (std::size_t number = 0; number < groups_.size(); ++number) {
        Group& group = groups_[number];
        if (group.events() == 0) continue;
        group.name = by_ == By::kCall ? std::string(calls::kTable[number].name) : fileName(number);
        report.groups.push_back(std::move(group));
      }
      std::ranges::stable_sort(report.groups, {}, [](const Group& group) {
        return std::tuple(~group.time_ns.total, ~group.mpi_sync_ns.total,
                          std::string_view(group.name));
      });
    }
    for (const Group& group : report.groups) report.total.add(group);
    report.total.name = "total";
    report.ranks = std::move(ranks_);
    report.events_below = events_below_;
    report.recording_ns = recording_ns_;
    tracefile::addUndecodable(report.wholeness, undecodable_);
  }

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;
  static constexpr std::int64_t kNoRank = 1LL << 40;  // behind all ranks
  static constexpr std::size_t kNoGroup = std::numeric_limits<std::size_t>::max();

  // Counted by process, since the numbers of requests are those of the process.
  struct OfProcess {
    explicit OfProcess(const tracefile::Process& process)
        : later(process.logs.size() == 1 ? event::LaterReads::Order::kByTime
                                         : event::LaterReads::Order::kByLog) {}
    event::LaterReads later;
    std::uint64_t events = 0;
  };

  // Whether a call may have waited for other ranks.
  bool readRank(const std::vector<Source>& sources) {
    const std::optional<int> rank = trace_.rankOf(*sources.front().process);
    // A rank without a single event is a finding too.
    if (by_ == By::kRank) groupOf({rank.value_or(kNoRank), 0});
    std::vector<OfProcess> processes;
    for (const Source& source : sources) processes.emplace_back(*source.process);
    RankEvents events(sources, selection_, paths_);
    std::vector<std::size_t> places;  // by log; of files and calls each event has its own
    for (const RankEvents::Log& log : events.logs()) {
      if (by_ == By::kThread) nameThread(*log.source, *log.log);
      places.push_back(by_ == By::kThread ? groupOf(threadKey(*log.source, *log.log))
                       : by_ == By::kRank ? groupOf({rank.value_or(kNoRank), 0})
                                          : kNoGroup);
    }
    RankClock clock(events.logs().size(), nullptr);
    while (const event::Event* const event = events.next()) {
      const bool is_selected = selected_.has(*event);
      clock.take(*event, events, is_selected);
      OfProcess& process = processes[events.log().source_number];
      std::size_t place = kNoGroup;
      if (is_selected) {
        ++process.events;
        place = places[events.logNumber()];
        if (place == kNoGroup) place = placeOf(*event);
      }
      count(*event, place, process.later);
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      OfProcess& process = processes[i];
      process.later.finish(took_);
      // Whether calls below belong to a path or a window is not looked at.
      const bool has_others = selection_.patterns.empty() && !selection_.window;
      const std::uint64_t below = has_others ? events.leftOut(i) : 0;
      events_below_ += below;
      recording_ns_ +=
          static_cast<double>(process.events + below) * sources[i].process->info.eventCostNs();
    }
    undecodable_ += events.undecodable();
    if (rank) ranks_.push_back({.rank = *rank, .io = clock.io(), .run_ns = clock.runNs()});
    return clock.mayWait();
  }

  void readTimes(const std::vector<Source>& sources, const order::IoWaits& waits) {
    const std::optional<int> rank = trace_.rankOf(*sources.front().process);
    if (!rank) return;
    RankEvents events(sources, selection_, paths_);
    RankClock clock(events.logs().size(), &waits);
    while (const event::Event* const event = events.next()) {
      clock.take(*event, events, selected_.has(*event));
    }
    ranks_.push_back({.rank = *rank, .io = clock.io(), .run_ns = clock.runNs()});
  }

  void count(const event::Event& event, std::size_t place, event::LaterReads& later) {
    const bool bytes_later = event::LaterReads::begins(event);
    if (place != kNoGroup) groups_[place].add(event, bytes_later);
    if (bytes_later) {
      later.begin(event, place, took_);
    } else {
      later.end(event, took_);
    }
  }

  // Lanes of a thread are one group.
  static Key threadKey(const Source& source, const tracefile::Log& log) {
    return {static_cast<std::int64_t>(source.number), log.thread};
  }

  void nameThread(const Source& source, const tracefile::Log& log) {
    const tracefile::Process& process = *source.process;
    const auto rank = trace_.rankOf(process);
    const std::string omp = log.omp_thread_plus_1 == 0
                                ? std::string()
                                : fmt::format(", OpenMP thread {}", log.omp_thread_plus_1 - 1);
    const std::string where = base::printable(process.info.text(wire::info::kHost));
    groups_[groupOf(threadKey(source, log))].name = fmt::format(
        "rank {} thread {} (host {}, pid {}, tid {}{})", rank ? fmt::format("{}", *rank) : "none",
        log.thread, where.empty() ? "unknown" : where, process.pid, log.tid, omp);
  }

  std::string fileName(std::size_t number) const {
    return number == 0 ? "(no file)"
                       : base::printable(
                             paths_.path(event::FileId(static_cast<std::uint32_t>(number - 1))));
  }

  std::size_t groupOf(Key key) {
    const auto [place, is_new] = index_.try_emplace(key, groups_.size());
    if (is_new) groups_.emplace_back();
    return place->second;
  }

  // Where groups are files or calls.
  std::size_t placeOf(const event::Event& event) {
    // The wrap of kNoFile to 0 is meant: what belongs to no file has the first place.
    const std::size_t number =
        by_ == By::kCall ? event.row->number : static_cast<std::uint32_t>(event.file) + 1U;
    if (number >= groups_.size()) groups_.resize(number + 1);
    return number;
  }

  const event::LaterReads::Take took_ = [this](std::size_t place, std::uint64_t bytes) {
    if (place == kNoGroup) return;
    Transfer& read = groups_[place].read;
    read.size_bytes.add(bytes);
    read.begun_bytes += bytes;
  };
  const tracefile::Trace& trace_;
  const By by_;
  const Selection& selection_;
  event::PathTable paths_;
  SelectedEvents selected_;
  std::map<Key, std::size_t> index_;  // of ranks or threads, into groups_
  std::vector<Group> groups_;         // else of calls by number, or of files by number plus 1
  std::vector<RankTime> ranks_;
  std::uint64_t events_below_ = 0;
  std::uint64_t undecodable_ = 0;
  double recording_ns_ = 0;
};

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

base::Result<Report> makeReport(const tracefile::Trace& trace, By by, const Selection& selection) {
  const base::Result<std::vector<const tracefile::Process*>> processes =
      trace.processesOf(selection.rank, selection.thread);
  if (!processes) return processes.failure();
  Report report;
  report.trace = trace.directory().native();
  report.by = by;
  report.selection = selection;
  report.wholeness = tracefile::assess(trace);
  report.clocks = trace.clocks();
  Accumulator accumulator(trace, by, selection);
  accumulator.read(byRank(trace, *processes));
  accumulator.finish(report);
  return report;
}

}  // namespace omnio::stats
