#include "core/order/matcher.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/calls/mpi_values.hpp"

namespace omnio::order {

MpiMatcher::MpiMatcher(const mpi::MpiGroups& groups, std::vector<bool> several_threads,
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
      processes_(several_threads_.size()) {}

void MpiMatcher::push(const MpiEventRef& ref, const event::Event& event) {
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
  auto& requests = processes_[events_.current().process].requests;
  const auto entry = requests.try_emplace(requests.end(), request, nullptr);  // they count up
  std::swap(entry->second, operation);
  if (operation == nullptr) {
    ++requests_;
    return;
  }
  // Its number is used again, so it has come to an end that nobody saw.
  fetch(operation);
  if (operation->outstanding) dropReceive(operation, Match::kNotComplete);
  events_.release(operation);
}

// The operation of a request that is complete, or freed.
OpenOperation* MpiMatcher::recall(std::uint64_t request) {
  auto& requests = processes_[events_.current().process].requests;
  const auto found = requests.find(request);
  if (request == 0 || found == requests.end()) return nullptr;
  OpenOperation* operation = found->second;
  requests.erase(found);
  --requests_;
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
    if (facts.seq == 0) facts.match = Match::kGivenUp;
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
  operation->post = processes_[events_.current().process].receives.post(operation->asked);
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
  const Found found{.end_ns = event.end_ns,
                    .order = found_so_far_++,
                    .process = event.process,
                    .operation = operation,
                    .stream = {facts.own->group, facts.peer, facts.tag},
                    .number = numbered};
  if (several_threads_[event.process]) {
    found_.push(found);
  } else {
    take(found);
  }
}

void MpiMatcher::take(const Found& found) {
  OpenOperation* operation = found.operation;
  ReceiveOrder& receives = processes_[found.process].receives;
  const bool probe = operation->facts.kind == OperationKind::kProbe;
  std::uint64_t number = found.number;
  if (number == 0) number = countOf(operation->facts, false);
  if (number == 0) {
    events_.resolve(operation, Match::kGivenUp);
    receives.drop(operation->post, operation->asked, final_);
    events_.release(operation);
  } else if (probe) {
    operation->post = receives.probe(operation->index, found.stream, number, final_);
  } else {
    receives.complete(operation->index, operation->post, operation->asked, found.stream, number,
                      final_);
  }
  // One that has been given up does not wait: nobody would give it up again.
  if (number != 0 && operation->facts.match == Match::kGivenUp) {
    receives.giveUp(operation->post, found.stream, final_);
  }
  handOn();
}

// Hands on the receives and probes of which it is now known which message they are of.
void MpiMatcher::handOn() {
  // In order: a probe of a message comes before its receive.
  for (const ReceiveOrder::Final& known : final_) {
    OpenOperation* operation = events_.at(known.operation);
    operation->facts.seq = known.seq;
    if (known.seq != 0) {
      if (!operation->to_be_fetched) messages_.add(operation);
    } else if (operation->facts.match == Match::kOpen) {
      events_.resolve(operation, Match::kNoIdentity);
    }
    events_.release(operation);
  }
  final_.clear();
}

// The message that a matched probe took is fetched, or never will be.
void MpiMatcher::fetch(OpenOperation* operation) {
  if (!std::exchange(operation->to_be_fetched, false)) return;
  if (operation->facts.seq != 0) messages_.add(operation);
}

void MpiMatcher::dropReceive(OpenOperation* operation, Match match) {
  if (operation->outstanding && operation->post != 0) {
    processes_[operation->facts.started.process].receives.drop(operation->post, operation->asked,
                                                               final_);
    handOn();
  }
  operation->outstanding = false;
  events_.resolve(operation, match);
}

// The tracer counts a bounded number of streams; of others the messages are counted here. 0: there
// are too many of them.
std::uint64_t MpiMatcher::countOf(const MpiOperation& message, bool sends) {
  auto& counts = processes_[message.started.row != nullptr ? message.started.process
                                                           : events_.current().process]
                     .uncounted;
  const std::uint64_t ends = std::uint64_t{static_cast<std::uint32_t>(message.peer)} << 32 |
                             static_cast<std::uint32_t>(message.tag);
  const std::uint64_t group = std::uint64_t{message.own->group} << 1 | (sends ? 1U : 0U);
  const std::uint64_t stream = (ends ^ group * 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
  auto count = counts.find(stream);
  if (count == counts.end()) {
    if (streams_ == limits_.most_streams) return 0;
    ++streams_;
    count = counts.emplace(stream, 0).first;
  }
  return message.kind == OperationKind::kProbe ? count->second + 1 : ++count->second;
}

// ---- time and ends ----

void MpiMatcher::takeIn(std::int64_t until_ns) {
  while (!found_.empty() && found_.top().end_ns <= until_ns) {
    const Found found = found_.top();
    found_.pop();
    if (found.operation == nullptr) {
      leave(found.process);
    } else {
      take(found);
    }
  }
}

void MpiMatcher::end(mpi::ProcessIndex process) {
  if (several_threads_[process]) {
    Found none;
    none.end_ns = last_end_ns_[process];
    none.order = found_so_far_++;
    none.process = process;
    found_.push(none);
  } else {
    leave(process);
  }
}

void MpiMatcher::leave(mpi::ProcessIndex process) {
  Process& leaving = processes_[process];
  leaving.receives.finish(!leaving.finalized, final_);
  handOn();
  const auto requests = std::exchange(leaving.requests, {});
  requests_ -= requests.size();
  streams_ -= leaving.uncounted.size();
  leaving = {};
  for (const auto& [number, operation] : requests) {
    fetch(operation);
    if (operation->outstanding) {
      operation->post = 0;
      dropReceive(operation, Match::kNotComplete);
    }
    events_.release(operation);
  }
  ended_[process] = true;
}

void MpiMatcher::finish() {
  takeIn(std::numeric_limits<std::int64_t>::max());
  for (mpi::ProcessIndex process = 0; process < ended_.size(); ++process) {
    if (!ended_[process]) leave(process);
  }
  sweep();
}

}  // namespace omnio::order
