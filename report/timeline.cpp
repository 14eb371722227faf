#include "report/timeline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/base/integers.hpp"
#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/calls/words/names.hpp"
#include "core/event/event_text.hpp"
#include "core/order/matched_events.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/wire/info.hpp"

namespace omnio::report {
namespace {

// The largest pid that Linux gives (PID_MAX_LIMIT) is 4,194,304.
constexpr std::uint32_t kFirstMadeUp = 5'000'000;

// Numbers of processes or threads, each once.
class Numbers {
 public:
  std::uint32_t take(std::uint32_t number) {
    if (number != 0 && taken_.insert(number).second) return number;
    return next_++;
  }

 private:
  std::set<std::uint32_t> taken_;
  std::uint32_t next_ = kFirstMadeUp;
};

// An MPI event of a thread. Of test calls in a row, it is the first.
struct EventKey {
  std::size_t process = 0;
  std::uint32_t thread = 0;
  std::int64_t start_ns = 0;
  bool operator==(const EventKey&) const = default;
};
struct EventHash {
  std::size_t operator()(const EventKey& key) const {
    return base::mixed(static_cast<std::uint64_t>(key.start_ns),
                       static_cast<std::uint64_t>(key.process) << 32 | key.thread);
  }
};

// The messages of a trace: from the call that began to send one to the call that had it in the end.
class Messages : public order::MpiPictureSink {
 public:
  void seen(std::uint64_t /*id*/, const order::MpiEventRef& /*ref*/,
            const event::Event& /*event*/) override {}
  void settled(const order::MatchedEvent& event) override {
    for (const order::EventPart& part : event.parts) {
      const order::MpiOperation& operation = *part.operation;
      const bool ends = part.part == order::Part::kWhole || part.part == order::Part::kEnded;
      if (!ends || operation.kind != order::OperationKind::kReceive ||
          operation.match != order::Match::kMatched) {
        continue;
      }
      if (count_ == kMostFlows) {
        has_all_ = false;
        return;
      }
      ++count_;
      out_[keyOf(operation.counterpart)].push_back(count_);
      in_[keyOf(event.event)].push_back(count_);
    }
  }

  Flows of(const EventKey& key) const { return {found(out_, key), found(in_, key)}; }
  std::uint64_t count() const { return count_; }
  bool hasAll() const { return has_all_; }

 private:
  using ByEvent = std::unordered_map<EventKey, std::vector<std::uint64_t>, EventHash>;
  static EventKey keyOf(const order::MpiEventRef& ref) {
    return {ref.process, ref.thread, ref.start_ns};
  }
  static std::span<const std::uint64_t> found(const ByEvent& flows, const EventKey& key) {
    const auto at = flows.find(key);
    return at == flows.end() ? std::span<const std::uint64_t>() : std::span(at->second);
  }

  ByEvent out_;
  ByEvent in_;
  std::uint64_t count_ = 0;
  bool has_all_ = true;
};

class Reader {
 public:
  Reader(const tracefile::Trace& trace, const stats::Selection& selection, TimelineSink& sink)
      : selection_(selection),
        sink_(sink),
        start_ns_(stats::startOfRun(trace)),
        selected_(selection, paths_, start_ns_) {}

  // Sorts the messages out first.
  void readMessages(const tracefile::Trace& trace) {
    const mpi::MpiGroups groups = order::mpiGroupsOf(trace);
    order::readMpiPicture(trace, groups, paths_, messages_);
    ends_.resize(messages_.count() + 1);
    end_.has_all_flows = messages_.hasAll();
  }

  // False when the sink wants no more.
  bool read(const tracefile::Trace& trace, const tracefile::Process& process, std::size_t place) {
    const auto rank = trace.rankOf(process);
    const std::string host = base::printable(process.info.text(wire::info::kHost));
    const std::uint32_t pid = pids_.take(process.pid);
    const std::string who =
        rank ? fmt::format("rank {}", *rank) : fmt::format("process {}", process.pid);
    ++processes_;
    sink_.process({.number = processes_,
                   .pid = pid,
                   .pid_on_host = process.pid,
                   .rank = rank,
                   .host = host,
                   .name = host.empty() ? who : fmt::format("{} ({})", who, host)});
    for (const tracefile::Log& log : process.logs) {
      if (selection_.thread && log.thread != *selection_.thread) continue;
      ++end_.tracks;
      const TimelineTrack track{
          .number = end_.tracks,
          .process = processes_,
          .pid = pid,
          .tid = tids_.take(log.lane == 0 ? log.tid : 0),
          .thread = log.thread,
          .name = fmt::format("thread {}{}", log.thread, log.lane == 0 ? "" : ", signal handlers")};
      sink_.track(track);
      if (!readLog(process, log, track, place)) return false;
      if (!sink_.end(track)) return false;
    }
    return true;
  }

  const TimelineEnd& end() const { return end_; }

 private:
  bool readLog(const tracefile::Process& process, const tracefile::Log& log,
               const TimelineTrack& track, std::size_t place) {
    tracefile::LogReader events(process, log, paths_);
    while (const event::Event* const event = events.next()) {
      if (!selected_.has(*event)) continue;
      ++end_.slices;
      const bool may_send = event->depth == 0 && event->row->api == calls::Api::kMpi;
      const Flows flows = may_send ? messages_.of({place, log.thread, event->start_ns}) : Flows{};
      for (const std::uint64_t flow : flows.out) noteEnd(flow);
      for (const std::uint64_t flow : flows.in) noteEnd(flow);
      // A time before the run, or an end before a start, can only be damage.
      const std::int64_t start_ns = event->start_ns <= start_ns_ ? 0 : event->start_ns - start_ns_;
      const std::int64_t end_ns = event->end_ns <= event->start_ns
                                      ? start_ns
                                      : std::max(event->end_ns - start_ns_, start_ns);
      if (!sink_.slice(track, *event, flows, start_ns, end_ns)) return false;
    }
    end_.undecodable += events.undecodable();
    return true;
  }

  // A message counts when both of its ends are shown.
  void noteEnd(std::uint64_t flow) {
    if (++ends_[flow] == 2) ++end_.flows;
  }

  const stats::Selection& selection_;
  TimelineSink& sink_;
  std::int64_t start_ns_;
  event::PathTable paths_;
  stats::SelectedEvents selected_;
  Messages messages_;
  std::vector<std::uint8_t> ends_;  // by message: how many of its ends were shown
  Numbers pids_;
  Numbers tids_;
  std::uint64_t processes_ = 0;
  TimelineEnd end_;
};

}  // namespace

std::vector<Argument> argumentsOf(const event::Event& event) {
  std::vector<Argument> arguments;
  const auto text = [&](std::string_view key, std::string value) {
    arguments.push_back({.key = key, .is_number = false, .number = 0, .text = std::move(value)});
  };
  for (const calls::Item& item : calls::layoutOf(*event.row)) {
    switch (item.kind) {
      case calls::ItemKind::kPieces:
        text(item.key, fmt::format("{}", fmt::join(event::pieceSizes(event), ":")));
        break;
      case calls::ItemKind::kErrno:
        if (event.failed && !event.endOfFile()) {
          std::string name;
          calls::appendError(name, *event.row, event.result);
          text(item.key, std::move(name));
        }
        break;
      case calls::ItemKind::kResult:
        if (const auto result = event::resultOf(event)) {
          arguments.push_back({.key = item.key, .number = *result, .text = {}});
        }
        break;
      default:
        if (const auto value = event::textOf(event, item)) {
          text(item.key, base::printable(*value));
        } else if (const auto number = event::numberOf(event, item)) {
          arguments.push_back({.key = item.key, .number = *number, .text = {}});
        }
    }
  }
  return arguments;
}

base::Result<TimelineEnd> readTimeline(const tracefile::Trace& trace,
                                       const stats::Selection& selection, bool with_flows,
                                       TimelineSink& sink) {
  const auto processes = trace.processesOf(selection.rank, selection.thread);
  if (!processes) return processes.failure();
  std::map<const tracefile::Process*, std::size_t> places;
  for (std::size_t i = 0; i < trace.processes().size(); ++i) {
    places[trace.processes()[i].get()] = i;
  }
  Reader reader(trace, selection, sink);
  if (with_flows) reader.readMessages(trace);
  const base::ProgressStage stage("writing the timeline", "events",
                                  tracefile::storedEvents(*processes));
  for (const tracefile::Process* process : *processes) {
    if (!reader.read(trace, *process, places.at(process))) break;
  }
  return reader.end();
}

}  // namespace omnio::report
