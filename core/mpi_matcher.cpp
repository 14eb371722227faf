#include "core/mpi_matcher.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/calls/mpi_values.hpp"

namespace omnio {
namespace {

constexpr std::size_t kFirstSweep = 65536;

}  // namespace

MpiMatcher::MpiMatcher(const MpiGroups& groups, std::vector<bool> several_threads,
                       WaitingRules rules, MpiPictureSink& sink, Limits limits)
    : groups_(groups),
      several_threads_(std::move(several_threads)),
      limits_(limits),
      events_(sink, std::move(rules)),
      ended_(several_threads_.size()),
      last_end_ns_(several_threads_.size()),
      messages_(groups, events_, ended_),
      collectives_(groups, events_, ended_),
      epochs_(groups, events_, ended_),
      processes_(several_threads_.size()),
      next_sweep_(std::min(kFirstSweep, limits.most_open)) {}

void MpiMatcher::push(const MpiEventRef& ref, const Event& event) {
  takeIn(ref.start_ns);
  events_.open(ref, event);
  std::int64_t& last_end = last_end_ns_[ref.process];
  last_end = std::max(last_end, ref.end_ns);
  decode(event);
  events_.close();
  keepBounds();
}

OpenOperation* MpiMatcher::make(OperationKind kind, std::uint64_t group) {
  OpenOperation* operation = events_.make(kind);
  operation->facts.own = groups_.own(events_.current().process, group);
  return operation;
}

void MpiMatcher::remember(OpenOperation* operation, std::uint64_t request) {
  operation->facts.request = request;
  if (request == 0) return;
  OpenEvents::keep(operation);
  OpenOperation*& place = processes_[events_.current().process].requests[request];
  std::swap(place, operation);
  if (operation == nullptr) return;
  // Its number is used again, so it has come to an end that nobody saw.
  if (operation->outstanding) dropReceive(operation, Match::kNotComplete);
  events_.release(operation);
}

OpenOperation* MpiMatcher::forget(std::uint64_t request) {
  auto& requests = processes_[events_.current().process].requests;
  const auto found = requests.find(request);
  if (request == 0 || found == requests.end()) return nullptr;
  OpenOperation* operation = found->second;
  requests.erase(found);
  return operation;
}

void MpiMatcher::addSend(OpenOperation* operation, Part part) {
  MpiOperation& facts = operation->facts;
  if (facts.peer == calls::kProcNull) {
    facts.match = Match::kNobody;
  } else if (facts.own == nullptr || facts.peer < 0) {
    facts.match = Match::kNoIdentity;
  } else if (facts.seq == 0) {
    facts.seq = countOf(facts, true);
  }
  events_.add(operation, part);
  if (facts.match == Match::kOpen) messages_.add(operation);
}

void MpiMatcher::post(OpenOperation* operation) {
  MpiOperation& facts = operation->facts;
  if (facts.peer == calls::kProcNull) {
    facts.match = Match::kNobody;
    return;
  }
  operation->outstanding = true;
  if (facts.own == nullptr) return;
  operation->asked = {facts.own->group, facts.peer, facts.tag};
  operation->place = processes_[events_.current().process].receives.post(operation->asked);
}

void MpiMatcher::arrive(OpenOperation* operation, std::uint64_t numbered) {
  MpiOperation& facts = operation->facts;
  if (facts.match != Match::kOpen && facts.match != Match::kGivenUp) return;
  if (facts.peer == calls::kProcNull) {
    dropReceive(operation, Match::kNobody);
    return;
  }
  if (facts.own == nullptr || facts.peer < 0) {
    dropReceive(operation, Match::kNoIdentity);
    return;
  }
  const MpiEventRef& event = events_.current();
  operation->outstanding = false;
  OpenEvents::keep(operation);
  const Arrived arrived{.end_ns = event.end_ns,
                        .order = arrivals_++,
                        .process = event.process,
                        .operation = operation,
                        .stream = {facts.own->group, facts.peer, facts.tag},
                        .number = numbered};
  if (several_threads_[event.process]) {
    arriving_.push(arrived);
  } else {
    take(arrived);
  }
}

void MpiMatcher::take(const Arrived& arrived) {
  OpenOperation* operation = arrived.operation;
  ReceiveOrder& receives = processes_[arrived.process].receives;
  const bool probe = operation->facts.kind == OperationKind::kProbe;
  std::uint64_t number = arrived.number;
  if (number == 0) number = countOf(operation->facts, false);
  if (probe) {
    receives.probe(operation->index, arrived.stream, number, final_);
  } else {
    receives.complete(operation->index, operation->place, operation->asked, arrived.stream, number,
                      final_);
  }
  place();
}

// Hands on the receives and probes of which it is now known which message they are of.
void MpiMatcher::place() {
  // In order: a probe of a message comes before its receive.
  for (const ReceiveOrder::Final& known : final_) {
    OpenOperation* operation = events_.at(known.operation);
    operation->facts.seq = known.seq;
    messages_.add(operation);
    events_.release(operation);
  }
  final_.clear();
}

void MpiMatcher::dropReceive(OpenOperation* operation, Match match) {
  if (operation->outstanding && operation->place != 0) {
    processes_[operation->facts.started.process].receives.drop(operation->place, operation->asked,
                                                               final_);
    place();
  }
  operation->outstanding = false;
  events_.resolve(operation, match);
}

// The tracer counts a bounded number of streams; of others the messages are counted here.
std::uint64_t MpiMatcher::countOf(const MpiOperation& message, bool sends) {
  auto& counts = processes_[message.started.row != nullptr ? message.started.process
                                                           : events_.current().process]
                     .uncounted;
  const std::uint64_t ends = std::uint64_t{static_cast<std::uint32_t>(message.peer)} << 32 |
                             static_cast<std::uint32_t>(message.tag);
  const std::uint64_t group = std::uint64_t{message.own->group} << 1 | (sends ? 1U : 0U);
  std::uint64_t& count = counts[(ends ^ group * 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL];
  return message.kind == OperationKind::kProbe ? count + 1 : ++count;
}

// ---- time, ends and bounds ----

void MpiMatcher::takeIn(std::int64_t until_ns) {
  while (!arriving_.empty() && arriving_.top().end_ns <= until_ns) {
    const Arrived arrived = arriving_.top();
    arriving_.pop();
    if (arrived.operation == nullptr) {
      leave(arrived.process);
    } else {
      take(arrived);
    }
  }
}

void MpiMatcher::end(ProcessIndex process) {
  if (several_threads_[process]) {
    Arrived none;
    none.end_ns = last_end_ns_[process];
    none.order = arrivals_++;
    none.process = process;
    arriving_.push(none);
  } else {
    leave(process);
  }
}

void MpiMatcher::leave(ProcessIndex process) {
  Process& leaving = processes_[process];
  leaving.receives.finish(final_);
  place();
  // By number, so that the order is the same in every run.
  std::vector<std::pair<std::uint64_t, OpenOperation*>> requests(leaving.requests.begin(),
                                                                 leaving.requests.end());
  std::sort(requests.begin(), requests.end());
  leaving = {};
  for (const auto& [number, operation] : requests) {
    if (operation->outstanding) {
      operation->place = 0;
      dropReceive(operation, Match::kNotComplete);
    }
    events_.release(operation);
  }
  ended_[process] = true;
}

void MpiMatcher::finish() {
  takeIn(std::numeric_limits<std::int64_t>::max());
  for (ProcessIndex process = 0; process < ended_.size(); ++process) {
    if (!ended_[process]) leave(process);
  }
  sweep();
}

void MpiMatcher::sweep() {
  messages_.sweep();
  collectives_.sweep();
  epochs_.sweep();
}

void MpiMatcher::keepBounds() {
  if (events_.openCount() < next_sweep_) return;
  sweep();
  // Some more than one: each time costs a look at all that is open.
  const bool is_full = events_.openCount() >= limits_.most_open;
  while (is_full && events_.openCount() >= limits_.most_open - limits_.most_open / 16) {
    const std::vector<OpenOperation*> oldest = events_.oldest();
    if (oldest.empty()) break;
    for (OpenOperation* operation : oldest) OpenEvents::keep(operation);
    for (OpenOperation* operation : oldest) {
      giveUp(operation, Match::kGivenUp);
      events_.release(operation);
    }
  }
  next_sweep_ = std::min(std::max(kFirstSweep, 2 * events_.openCount()), limits_.most_open);
}

void MpiMatcher::giveUp(OpenOperation* operation, Match match) {
  if (operation->facts.match != Match::kOpen) return;
  switch (operation->facts.kind) {
    case OperationKind::kCollective:
      collectives_.giveUp(operation, match);
      break;
    case OperationKind::kPost:
    case OperationKind::kStart:
    case OperationKind::kComplete:
    case OperationKind::kWait:
      epochs_.giveUp(operation, match);
      break;
    case OperationKind::kReceive:
    case OperationKind::kProbe:
      // One that is not in the table yet stays where it is: it may still be somebody's counterpart.
      if (operation->facts.seq == 0) {
        events_.resolve(operation, match);
        break;
      }
      [[fallthrough]];
    default:
      messages_.giveUp(operation, match);
  }
}

}  // namespace omnio
