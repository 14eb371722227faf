#include "statistics/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/calls/table.hpp"
#include "core/event/deferred_reads.hpp"
#include "core/event/io_requests.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/wire/info.hpp"

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

namespace {

constexpr base::Word<By> kNames[] = {
    {By::kFile, "file"}, {By::kRank, "rank"}, {By::kThread, "thread"}, {By::kCall, "call"}};

// One pass over all events of the chosen processes. A group is found by a number: of the file, of
// the call, or of the rank or thread that is being read.
class Accumulator {
 public:
  explicit Accumulator(By by) : by_(by) {}

  void read(const tracefile::Trace& trace, const tracefile::Process& process,
            std::size_t process_number) {
    const std::uint64_t events_before = total_.events() + events_below_;
    // Threads share files and requests, and are read one after the other.
    event::LaterReads later(process.logs.size() == 1 ? event::LaterReads::Order::kByTime
                                                     : event::LaterReads::Order::kByLog);
    // One for all threads: the numbers of asynchronous operations are those of the process.
    event::IoRequests requests;
    for (const tracefile::Log& log : process.logs) {
      if (by_ == By::kRank) {
        current_ = groupOf(rankKey(trace, process));
      } else if (by_ == By::kThread) {
        // Lanes of a thread are one group.
        current_ = groupOf({static_cast<std::int64_t>(process_number), log.thread});
        groups_[current_].name = threadName(trace, process, log);
      }
      readLog(process, log, later, requests);
    }
    later.finish(took_);
    recording_ns_ += static_cast<double>(total_.events() + events_below_ - events_before) *
                     process.info.eventCostNs();
    // A rank without a single event is a finding too.
    if (by_ == By::kRank) groupOf(rankKey(trace, process));
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
    report.total = std::move(total_);
    report.total.name = "total";
    report.events_below = events_below_;
    report.recording_ns = recording_ns_;
    tracefile::addUndecodable(report.wholeness, undecodable_);
  }

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;
  static constexpr std::int64_t kNoRank = 1LL << 40;  // behind all ranks

  static Key rankKey(const tracefile::Trace& trace, const tracefile::Process& process) {
    const auto rank = trace.rankOf(process);
    return {rank ? *rank : kNoRank, 0};
  }

  static std::string threadName(const tracefile::Trace& trace, const tracefile::Process& process,
                                const tracefile::Log& log) {
    const auto rank = trace.rankOf(process);
    const std::string omp = log.omp_thread_plus_1 == 0
                                ? std::string()
                                : fmt::format(", OpenMP thread {}", log.omp_thread_plus_1 - 1);
    const std::string where = base::printable(process.info.text(wire::info::kHost));
    return fmt::format("rank {} thread {} (host {}, pid {}, tid {}{})",
                       rank ? fmt::format("{}", *rank) : "none", log.thread,
                       where.empty() ? "unknown" : where, process.pid, log.tid, omp);
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

  std::size_t placeOf(const event::Event& event) {
    if (by_ == By::kRank || by_ == By::kThread) return current_;
    // The wrap of kNoFile to 0 is meant: what belongs to no file has the first place.
    const std::size_t number =
        by_ == By::kCall ? event.row->number : static_cast<std::uint32_t>(event.file) + 1U;
    if (number >= groups_.size()) groups_.resize(number + 1);
    return number;
  }

  void readLog(const tracefile::Process& process, const tracefile::Log& log,
               event::LaterReads& later, event::IoRequests& requests) {
    const auto reader = std::make_unique<tracefile::LogReader>(process, log, paths_);
    while (const event::Event* event = reader->next()) {
      if (event->row->api == calls::Api::kThreads) continue;
      if (event->depth > 0) {
        requests.takeBelow(*event);
        ++events_below_;
        continue;
      }
      // OMPIO's operations end in MPI_Wait at depth 0. MPI_File_iwrite has counted their bytes.
      if (requests.endsBelow(*event)) {
        ++events_below_;
        continue;
      }
      const std::size_t place = placeOf(*event);
      const bool bytes_later = event::LaterReads::begins(*event);
      groups_[place].add(*event, bytes_later);
      total_.add(*event, bytes_later);
      if (bytes_later) {
        later.begin(*event, place, took_);
      } else {
        later.end(*event, took_);
      }
    }
    undecodable_ += reader->undecodable();
  }

  const event::LaterReads::Take took_ = [this](std::size_t place, std::uint64_t bytes) {
    for (Transfer* read : {&groups_[place].read, &total_.read}) {
      read->size_bytes.add(bytes);
      read->begun_bytes += bytes;
    }
  };
  By by_;
  event::PathTable paths_;
  std::map<Key, std::size_t> index_;  // of ranks or threads, into groups_
  std::vector<Group> groups_;         // else of calls by number, or of files by number plus 1
  std::size_t current_ = 0;
  Group total_;
  std::uint64_t events_below_ = 0;
  std::uint64_t undecodable_ = 0;
  double recording_ns_ = 0;
};

}  // namespace

std::string_view nameOf(By by) { return base::wordOf(kNames, by); }

std::optional<By> byName(std::string_view name) { return base::valueOf(kNames, name); }

base::Result<Report> makeReport(const tracefile::Trace& trace, By by, std::optional<int> rank) {
  const base::Result<std::vector<const tracefile::Process*>> processes = trace.processesOf(rank);
  if (!processes) return processes.failure();
  Report report;
  report.trace = trace.directory().native();
  report.by = by;
  report.rank = rank;
  report.wholeness = tracefile::assess(trace);
  report.clocks = trace.clocks();
  Accumulator accumulator(by);
  for (std::size_t i = 0; i < processes->size(); ++i) {
    accumulator.read(trace, *(*processes)[i], i);
  }
  accumulator.finish(report);
  return report;
}

}  // namespace omnio::stats
