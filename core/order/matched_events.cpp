#include "core/order/matched_events.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/progress.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/merged_reader.hpp"

namespace omnio::order {

using calls::CallId;

namespace {

constexpr std::size_t kMostJoined = std::size_t{16} << 20;  // bytes: more than a million requests

// The row that continues a record that lists requests; none for one that lists none.
CallId continuationOf(const calls::Row& row) {
  if (calls::has(row, calls::Role::kDone)) return CallId::completed;
  return calls::has(row, calls::Role::kBegun) ? CallId::begun : CallId::none;
}

// The MPI events of one log that are the application's own. The records "(completed)" and
// "(begun)", which hold what had no room in the record before them, are put back into it.
class MpiLogSource final : public event::EventSource {
 public:
  // The parameters are those of LogReader.
  MpiLogSource(const tracefile::Process& process, const tracefile::Log& log,
               event::PathTable& paths, bool is_progress)
      : reader_(process, log, paths, tracefile::Stacks::kLeft, is_progress) {
    reader_.chooseOwnMpi();
  }

  const event::Event* next() override {
    missing_before_ = 0;
    const event::Event* event = ahead_ != nullptr ? std::exchange(ahead_, nullptr) : pull();
    if (event == nullptr) return nullptr;
    const CallId continuation = continuationOf(*event->row);
    if (continuation == CallId::none) return event;
    // A continuation stands for itself when the record that it belongs to is missing, or too much
    // has been put together.
    joined_ = *event;
    pieces_ = event->pieces;
    while ((ahead_ = pull()) != nullptr && !is_behind_gap_ && ahead_->row->id() == continuation &&
           pieces_.size() < kMostJoined) {
      pieces_ += ahead_->pieces;
    }
    joined_.pieces = pieces_;
    return &joined_;
  }
  // Counts what is missing before the event that was read ahead, too.
  std::uint64_t missingBefore() const override { return missing_before_; }
  std::uint64_t undecodable() const override { return reader_.undecodable(); }
  event::ThinkTime thinkTime() const override { return reader_.thinkTime(); }

 private:
  const event::Event* pull() {
    const event::Event* const event = reader_.next();
    missing_before_ += reader_.missingBefore();
    is_behind_gap_ = event != nullptr && reader_.missingBefore() > 0;
    return event;
  }

  tracefile::LogReader reader_;
  event::Event joined_;
  std::string pieces_;
  const event::Event* ahead_ = nullptr;  // read, not handed out
  std::uint64_t missing_before_ = 0;
  bool is_behind_gap_ = false;  // events are missing before the one that was pulled last
};

// The error of clocks that were not compared: what a time service keeps.
constexpr std::int64_t kTimeServiceNs = 1'000'000;

WaitingRules rulesOf(const tracefile::Trace& trace, const mpi::MpiGroups& groups) {
  WaitingRules rules;
  rules.groups = &groups;
  rules.clocks.resize(trace.processes().size());
  for (const tracefile::HostClock& clock : trace.clocks()) {
    const bool exact = clock.method == tracefile::ClockMethod::kReference;
    const std::int64_t error_ns = exact ? 0 : clock.error_ns.value_or(kTimeServiceNs);
    rules.most_slack_ns = std::max(rules.most_slack_ns, 2 * error_ns);
    for (const std::size_t process : clock.processes) {
      rules.clocks[process] = {static_cast<std::uint32_t>(clock.clock), error_ns};
    }
  }
  return rules;
}

}  // namespace

mpi::MpiGroups mpiGroupsOf(const tracefile::Trace& trace) {
  mpi::MpiGroups groups;
  for (const auto& process : trace.processes()) groups.add(process->info);
  return groups;
}

MpiPictureEnd readMpiPicture(const tracefile::Trace& trace, const mpi::MpiGroups& groups,
                             event::PathTable& paths, MpiPictureSink& sink,
                             MpiMatcher::Limits limits, PictureProgress progress) {
  const bool has_stage = progress == PictureProgress::kStage;
  struct Source {
    mpi::ProcessIndex process;
    std::uint32_t thread;
    std::uint64_t* number;  // of the thread's last event; the lanes of a thread count together
  };
  tracefile::MergedReader events;
  std::vector<Source> sources;         // by reader
  std::vector<std::size_t> logs_left;  // by process
  std::vector<bool> several_threads;   // by process
  std::map<std::pair<mpi::ProcessIndex, std::uint32_t>, std::uint64_t> numbers;
  for (const auto& process : trace.processes()) {
    const auto index = static_cast<mpi::ProcessIndex>(logs_left.size());
    for (const tracefile::Log& log : process->logs) {
      // At once: a process without calls of MPI, a shell say, must not keep the matcher waiting.
      events.add([&process = *process, &log, &paths, has_stage] {
        return std::make_unique<MpiLogSource>(process, log, paths, has_stage);
      });
      sources.push_back({index, log.thread, &numbers[{index, log.thread}]});
    }
    logs_left.push_back(process->logs.size());
    several_threads.push_back(process->logs.size() > 1);
  }
  std::optional<base::ProgressStage> stage;
  if (has_stage) stage.emplace("matching messages", "events", trace.storedEvents());
  MpiMatcher matcher(groups, std::move(several_threads), rulesOf(trace, groups), sink, limits);
  MpiPictureEnd end;
  const auto next = [&] {
    const event::Event* event = events.next();
    end.missing += events.missingBefore();
    return event;
  };
  const auto leaveIfAtEnd = [&](std::size_t source) {
    const mpi::ProcessIndex process = sources[source].process;
    if (events.isAtEnd(source) && --logs_left[process] == 0) matcher.end(process);
  };

  for (mpi::ProcessIndex process = 0; process < logs_left.size(); ++process) {
    if (logs_left[process] == 0) matcher.end(process);
  }
  const event::Event* event = next();
  for (std::size_t source = 0; source < sources.size(); ++source) leaveIfAtEnd(source);
  while (event != nullptr) {
    const std::size_t source = events.source();
    const Source& from = sources[source];
    matcher.push({.row = event->row,
                  .process = from.process,
                  .thread = from.thread,
                  .number = ++*from.number,
                  .start_ns = event->start_ns,
                  .end_ns = event->end_ns},
                 *event);
    event = next();
    leaveIfAtEnd(source);
  }
  matcher.finish();
  end.counts = matcher.counts();
  end.undecodable = events.undecodable();
  end.undecodable_of.resize(trace.processes().size());
  for (std::size_t source = 0; source < sources.size(); ++source) {
    end.undecodable_of[sources[source].process] += events.undecodableOf(source);
  }
  return end;
}

}  // namespace omnio::order
