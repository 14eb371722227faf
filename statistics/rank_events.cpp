#include "statistics/rank_events.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace omnio::stats {
namespace {

class OwnCalls final : public event::EventSource {
 public:
  // `requests` and `left_out` are of the process: the numbers of asynchronous operations are.
  OwnCalls(const tracefile::Process& process, const tracefile::Log& log, event::PathTable& paths,
           event::IoRequests& requests, std::uint64_t& left_out,
           const RankEvents::TakeBelow& take_below, std::size_t source_number)
      : events_(process, log, paths),
        requests_(requests),
        left_out_(left_out),
        take_below_(take_below),
        source_number_(source_number) {}

  const event::Event* next() override {
    while (const event::Event* const event = events_.next()) {
      if (event->row->api == calls::Api::kThreads) continue;
      if (event->depth == 0) return event;
      requests_.takeBelow(*event);
      ++left_out_;
      if (take_below_ && event->row->api != calls::Api::kMpi) take_below_(source_number_, *event);
    }
    return nullptr;
  }
  std::uint64_t missingBefore() const override { return events_.missingBefore(); }
  std::uint64_t undecodable() const override { return events_.undecodable(); }
  event::ThinkTime thinkTime() const override { return events_.thinkTime(); }

 private:
  tracefile::LogReader events_;
  event::IoRequests& requests_;
  std::uint64_t& left_out_;
  const RankEvents::TakeBelow& take_below_;
  std::size_t source_number_;
};

}  // namespace

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

RankEvents::RankEvents(const std::vector<Source>& sources, const Selection& selection,
                       event::PathTable& paths, TakeBelow below)
    : layer_(selection.layer), take_below_(std::move(below)), left_out_(sources.size()) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Source& source = sources[i];
    for (const tracefile::Log& log : source.process->logs) {
      if (selection.thread && log.thread != *selection.thread) continue;
      event::IoRequests& below = below_[source.process];
      logs_.push_back({.source = &source, .source_number = i, .log = &log, .below = &below});
      if (selection.layer == Layer::kPosix) {
        events_.addLog<tracefile::IoReader>(*source.process, log, paths);
      } else {
        events_.addLog<OwnCalls>(*source.process, log, paths, std::ref(below),
                                 std::ref(left_out_[i]), std::cref(take_below_), i);
      }
    }
  }
}

const event::Event* RankEvents::next() {
  while (const event::Event* const event = events_.next()) {
    // Threads may begin and end each other's, so that one has to look in the order of time.
    if (layer_ == Layer::kPosix || !log().below->endsBelow(*event)) return event;
    // OMPIO's operations end in MPI_Wait at depth 0. MPI_File_iwrite has counted their bytes.
    ++left_out_[log().source_number];
  }
  return nullptr;
}

void RankClock::take(const event::Event& event, const RankEvents& events, bool counts) {
  first_ns_ = std::min(first_ns_, event.start_ns);
  last_ns_ = std::max(last_ns_, event.end_ns);
  const bool is_of_mpi_io =
      event.row->api == calls::Api::kMpi && requests_[events.logNumber()].take(event);
  const bool is_io = event.row->call_class != calls::Class::kMpiSync || is_of_mpi_io;
  if (!counts || !is_io || !event::isOfStorage(event)) return;
  const RankEvents::Log& log = events.log();
  union_.add({.kind = event::ioKindOf(*event.row),
              .start_ns = event.start_ns,
              .end_ns = event.end_ns,
              .waited_ns = waits_ == nullptr
                               ? 0
                               : waits_->waited(log.source->in_trace, log.log->thread, event)});
}

}  // namespace omnio::stats
