#include "core/order/matched_events.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "core/tracefile/log_reader.hpp"

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
class MpiLogSource {
 public:
  // As LogReader.
  MpiLogSource(const tracefile::Process& process, const tracefile::Log& log,
               event::PathTable& paths)
      : reader_(process, log, paths) {}

  // The next event, or nullptr at the end. It is valid until the next call.
  const event::Event* next() {
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
  std::uint64_t missing() const { return missing_; }  // so far
  std::uint64_t undecodable() const { return reader_.undecodable(); }

 private:
  const event::Event* pull() {
    is_behind_gap_ = false;
    while (const event::Event* event = reader_.next()) {
      missing_ += reader_.missingBefore();
      is_behind_gap_ = is_behind_gap_ || reader_.missingBefore() > 0;
      if (event->row->api == calls::Api::kMpi && event->depth == 0) return event;
    }
    missing_ += reader_.missingBefore();
    return nullptr;
  }

  tracefile::LogReader reader_;
  event::Event joined_;
  std::string pieces_;
  const event::Event* ahead_ = nullptr;  // read, not handed out
  std::uint64_t missing_ = 0;
  bool is_behind_gap_ = false;  // events are missing before the one that was pulled last
};

// Of clocks that were not compared: what a time service keeps.
constexpr std::int64_t kTimeServiceNs = 1'000'000;

struct Source {
  std::unique_ptr<MpiLogSource> log;  // none at its end
  const event::Event* event = nullptr;
  mpi::ProcessIndex process = 0;
  std::uint32_t thread = 0;
  std::uint64_t* number = nullptr;  // of the thread, whose lanes count together
};

class Merge {
 public:
  Merge(const tracefile::Trace& trace, event::PathTable& paths) {
    mpi::ProcessIndex index = 0;
    for (const auto& process : trace.processes()) {
      for (const tracefile::Log& log : process->logs) {
        sources_.push_back({.log = std::make_unique<MpiLogSource>(*process, log, paths),
                            .process = index,
                            .thread = log.thread,
                            .number = &numbers_[{index, log.thread}]});
      }
      logs_left_.push_back(process->logs.size());
      ++index;
    }
  }

  // Hands the matcher all events by the time they began, and tells it when a process has no more.
  void run(MpiMatcher& matcher, MpiPictureEnd& end) {
    for (mpi::ProcessIndex process = 0; process < logs_left_.size(); ++process) {
      if (logs_left_[process] == 0) matcher.end(process);
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) pull(i, matcher, end);
    while (!heap_.empty()) {
      const std::size_t index = heap_.top().second;
      heap_.pop();
      const Source& source = sources_[index];
      const event::Event& event = *source.event;
      matcher.push({.row = event.row,
                    .process = source.process,
                    .thread = source.thread,
                    .number = ++*source.number,
                    .start_ns = event.start_ns,
                    .end_ns = event.end_ns},
                   event);
      pull(index, matcher, end);
    }
  }

 private:
  void pull(std::size_t index, MpiMatcher& matcher, MpiPictureEnd& end) {
    Source& source = sources_[index];
    source.event = source.log->next();
    if (source.event != nullptr) {
      heap_.emplace(source.event->start_ns, index);
      return;
    }
    end.missing += source.log->missing();
    end.undecodable += source.log->undecodable();
    source.log.reset();
    if (--logs_left_[source.process] == 0) matcher.end(source.process);
  }

  std::vector<Source> sources_;
  std::map<std::pair<mpi::ProcessIndex, std::uint32_t>, std::uint64_t> numbers_;
  std::vector<std::size_t> logs_left_;                // by process
  using Head = std::pair<std::int64_t, std::size_t>;  // when the next event of a source begins
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heap_;
};

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
                             MpiMatcher::Limits limits) {
  std::vector<bool> several_threads;
  for (const auto& process : trace.processes()) several_threads.push_back(process->logs.size() > 1);
  MpiMatcher matcher(groups, std::move(several_threads), rulesOf(trace, groups), sink, limits);
  MpiPictureEnd end;
  Merge merge(trace, paths);
  merge.run(matcher, end);
  matcher.finish();
  end.counts = matcher.counts();
  return end;
}

}  // namespace omnio::order
