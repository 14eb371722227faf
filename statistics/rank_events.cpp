#include "statistics/rank_events.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace omnio::stats {
namespace {

class OwnCalls final : public event::EventSource {
 public:
  // `requests`: of the process, since the numbers of asynchronous operations are.
  OwnCalls(const tracefile::Process& process, const tracefile::Log& log, event::PathTable& paths,
           event::IoRequests& requests)
      : events_(process, log, paths), requests_(requests) {}

  const event::Event* next() override {
    while (const event::Event* const event = events_.next()) {
      if (event->row->api == calls::Api::kThreads) continue;
      if (event->depth == 0) return event;
      requests_.takeBelow(*event);
      ++left_out_;
    }
    return nullptr;
  }
  std::uint64_t missingBefore() const override { return events_.missingBefore(); }
  std::uint64_t undecodable() const override { return events_.undecodable(); }
  event::ThinkTime thinkTime() const override { return events_.thinkTime(); }

  std::uint64_t leftOut() const { return left_out_; }

 private:
  tracefile::LogReader events_;
  event::IoRequests& requests_;
  std::uint64_t left_out_ = 0;
};

}  // namespace

RankEvents::RankEvents(const std::vector<Source>& sources, const Selection& selection,
                       event::PathTable& paths)
    : layer_(selection.layer) {
  const auto add = [this](auto reader) {
    left_out_.emplace_back([reader = reader.get()] { return reader->leftOut(); });
    events_.add(std::move(reader));
  };
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Source& source = sources[i];
    for (const tracefile::Log& log : source.process->logs) {
      if (selection.thread && log.thread != *selection.thread) continue;
      event::IoRequests& below = below_[source.process];
      logs_.push_back({.source = &source, .source_number = i, .log = &log, .below = &below});
      if (selection.layer == Layer::kPosix) {
        add(std::make_unique<tracefile::IoReader>(*source.process, log, paths));
      } else {
        add(std::make_unique<OwnCalls>(*source.process, log, paths, below));
      }
    }
  }
}

const event::Event* RankEvents::next() {
  while (const event::Event* const event = events_.next()) {
    // Threads may begin and end each other's, so that one has to look in the order of time.
    if (layer_ == Layer::kPosix || !log().below->endsBelow(*event)) return event;
    // OMPIO's operations end in MPI_Wait at depth 0. MPI_File_iwrite has counted their bytes.
    ++ended_below_[log().source];
  }
  return nullptr;
}

std::uint64_t RankEvents::leftOut(const Source& source) const {
  const auto ended = ended_below_.find(&source);
  std::uint64_t sum = ended == ended_below_.end() ? 0 : ended->second;
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    if (logs_[i].source == &source) sum += left_out_[i]();
  }
  return sum;
}

void RankClock::take(const event::Event& event, const RankEvents& events, bool counts) {
  first_ns_ = std::min(first_ns_, event.start_ns);
  last_ns_ = std::max(last_ns_, event.end_ns);
  const bool is_of_mpi_io = requests_[events.logNumber()].take(event);
  const bool is_io = event.row->call_class != calls::Class::kMpiSync || is_of_mpi_io;
  if (!counts || !is_io || !event::isOfStorage(event)) return;
  may_wait_ = may_wait_ || event::waitsForGroup(*event.row);
  const RankEvents::Log& log = events.log();
  union_.add({.kind = event::ioKindOf(*event.row),
              .start_ns = event.start_ns,
              .end_ns = event.end_ns,
              .waited_ns = waits_ == nullptr
                               ? 0
                               : waits_->waited(log.source->in_trace, log.log->thread, event)});
}

}  // namespace omnio::stats
