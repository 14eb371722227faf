#include "core/order/matcher.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "core/base/integers.hpp"
#include "core/calls/role.hpp"

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
  endUnseen(operation);  // its number is used again
}

void MpiMatcher::endUnseen(OpenOperation* operation) {
  fetch(operation);
  if (operation->outstanding) dropReceive(operation, Match::kNotComplete);
  events_.release(operation);
}

// The operation of a request that is complete, or freed; nullptr when there is none, as for 0.
OpenOperation* MpiMatcher::recall(std::uint64_t request) {
  const auto found = processes_[events_.current().process].requests.extract(request);
  if (!found) return nullptr;
  --requests_;
  return found.mapped();
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
  if (facts.peer == calls::kProcNull) return dropReceive(operation, Match::kNobody);
  if (facts.own == nullptr || facts.peer < 0) return dropReceive(operation, Match::kNoIdentity);
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
  // One that has been given up does not wait: it would never be given up again.
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
  const std::uint64_t stream = base::mixed(group, ends);
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
    found.operation == nullptr ? leave(found.process) : take(found);
  }
}

void MpiMatcher::end(mpi::ProcessIndex process) {
  if (several_threads_[process]) {
    found_.push({.end_ns = last_end_ns_[process], .order = found_so_far_++, .process = process});
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

// Settles what can no longer be matched, so that what the matcher holds stays within its bounds.
void MpiMatcher::sweep() {
  messages_.sweep();
  collectives_.sweep();
  epochs_.sweep();
}

void MpiMatcher::forgetOldestRequest(Process& process) {
  const auto oldest = process.requests.begin();
  OpenOperation* operation = oldest->second;
  process.forgotten = oldest->first;
  process.requests.erase(oldest);
  --requests_;
  fetch(operation);
  if (operation->outstanding) {
    giveUp(operation, Match::kGivenUp);
    process.receives.forget(operation->post, operation->asked);
    operation->outstanding = false;
  }
  events_.release(operation);
}

void MpiMatcher::forgetRequests() {
  // Some more than one: each time costs a look at all processes.
  const std::size_t wanted = limits_.most_requests - limits_.most_requests / 16;
  while (requests_ > wanted) {
    Process& most = *std::ranges::max_element(
        processes_, {}, [](const Process& process) { return process.requests.size(); });
    for (std::size_t n = std::min(most.requests.size() / 2 + 1, requests_ - wanted); n > 0; --n) {
      forgetOldestRequest(most);
    }
  }
}

void MpiMatcher::keepBounds() {
  if (requests_ > limits_.most_requests) forgetRequests();
  if (epochs_.size() > limits_.most_epochs) epochs_.forgetOldest();
  if (events_.openCount() < std::min(next_sweep_, limits_.most_open)) return;
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
  next_sweep_ = std::max(kFirstSweep, 2 * events_.openCount());
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
      giveUpReceive(operation, match);
      break;
    default:
      messages_.giveUp(operation, match);
  }
}

void MpiMatcher::giveUpReceive(OpenOperation* operation, Match match) {
  const MpiOperation& facts = operation->facts;
  if (facts.seq != 0) {
    fetch(operation);
    if (facts.match == Match::kOpen) messages_.giveUp(operation, match);
    return;
  }
  // One that is not found complete yet may still be the counterpart of another.
  events_.resolve(operation, match);
  if (operation->outstanding || operation->post == 0) return;
  processes_[facts.started.process].receives.giveUp(
      operation->post, {facts.own->group, facts.peer, facts.tag}, final_);
  handOn();
}

// Each call is decoded into the operations that it begins, ends, or both.
namespace {

using calls::CallId;
using calls::Role;
using calls::Sync;

// A rank or tag; what is none stays none.
std::int32_t narrow(std::int64_t value) {
  constexpr std::int64_t kLimit = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, -kLimit, kLimit));
}

std::int32_t rankIn(const event::Event& event, Role role) {
  return narrow(event::argumentOf(event, role));
}

std::uint64_t numberIn(const event::Event& event, Role role) {
  return static_cast<std::uint64_t>(event::argumentOf(event, role));
}

bool has(const event::Event& event, Role role) { return calls::has(*event.row, role); }

}  // namespace

void MpiMatcher::decode(const event::Event& event) {
  // A failed call has done nothing that its arguments say, unless it lists what it found.
  const bool failed = event.failed;
  switch (event.row->sync) {
    case Sync::kNone:
    case Sync::kGive:  // of threads
    case Sync::kTake:
    case Sync::kMeet:
    case Sync::kArrive:
      if (!failed && has(event, Role::kRequest)) localRequest(event);
      if (event.row->plain == CallId::MPI_Finalize) {
        processes_[events_.current().process].finalized = true;
      }
      break;
    case Sync::kAll:
    case Sync::kFromRoot:
    case Sync::kToRoot:
    case Sync::kPrefix:
    case Sync::kNeighbours:
      if (!failed) collective(event);
      break;
    case Sync::kSend:
    case Sync::kSyncSend:
      if (failed) break;
      sendOf(event, Role::kPeer, Role::kTag, Role::kSeq,
             has(event, Role::kRequest) ? Part::kBegun : Part::kWhole);
      break;
    case Sync::kReceive:
      if (has(event, Role::kSeq)) {
        // A message that was longer than the buffer has been received all the same.
        if (!failed || numberIn(event, Role::kSeq) != 0) {
          receiveOf(event, Role::kPeer, Role::kTag, Role::kSeq);
        }
      } else if (!failed) {
        beginReceive(event);
      }
      break;
    case Sync::kProbe:
      if (!failed) probeOf(event);
      break;
    case Sync::kExchange:
      if (failed && numberIn(event, Role::kSourceSeq) == 0) break;
      sendOf(event, Role::kPeer, Role::kTag, Role::kSeq, Part::kWhole);
      receiveOf(event, Role::kSource, Role::kSourceTag, Role::kSourceSeq);
      break;
    case Sync::kStart:
      startRequests(event);
      break;
    case Sync::kComplete:
      has(event, Role::kDone) ? completeRequests(event) : completeMatched(event);
      break;
    case Sync::kExpose:
      if (!failed) epochs(event, OperationKind::kPost);
      break;
    case Sync::kAccess:
      if (!failed) epochs(event, OperationKind::kStart);
      break;
    case Sync::kAccessed:
      if (!failed) epochs(event, OperationKind::kComplete);
      break;
    case Sync::kExposed:
      if (!failed) epochs(event, OperationKind::kWait);
      break;
  }
}

OpenOperation* MpiMatcher::makeMessage(OperationKind kind, const event::Event& event, Role peer,
                                       Role tag, Role bytes) {
  OpenOperation* operation = make(kind, numberIn(event, Role::kComm));
  operation->facts.peer = rankIn(event, peer);
  operation->facts.tag = rankIn(event, tag);
  operation->facts.bytes = numberIn(event, bytes);
  operation->facts.is_size_known = !event.failed;
  return operation;
}

void MpiMatcher::sendOf(const event::Event& event, Role peer, Role tag, Role seq, Part part) {
  const bool waits = event.row->sync == Sync::kSyncSend;
  OpenOperation* operation = makeMessage(waits ? OperationKind::kSyncSend : OperationKind::kSend,
                                         event, peer, tag, Role::kSize);
  operation->facts.seq = numberIn(event, seq);
  if (part == Part::kBegun) remember(operation, numberIn(event, Role::kRequest));
  addSend(operation, part);
}

void MpiMatcher::receiveOf(const event::Event& event, Role peer, Role tag, Role seq) {
  OpenOperation* operation = makeMessage(OperationKind::kReceive, event, peer, tag, Role::kGot);
  if (has(event, Role::kRequest)) {  // a matched probe
    remember(operation, numberIn(event, Role::kRequest));
    operation->to_be_fetched = operation->facts.request != 0;
  }
  post(operation);
  events_.add(operation, Part::kWhole);
  arrive(operation, numberIn(event, seq));
}

void MpiMatcher::beginReceive(const event::Event& event) {
  OpenOperation* operation =
      makeMessage(OperationKind::kReceive, event, Role::kPeer, Role::kTag, Role::kSize);
  remember(operation, numberIn(event, Role::kRequest));
  post(operation);
  events_.add(operation, Part::kBegun);
  // No later call tells of a receive that is complete already.
  if (operation->facts.request == 0) dropReceive(operation, Match::kNoIdentity);
}

void MpiMatcher::probeOf(const event::Event& event) {
  OpenOperation* operation =
      makeMessage(OperationKind::kProbe, event, Role::kPeer, Role::kTag, Role::kGot);
  events_.add(operation, Part::kWhole);
  arrive(operation, numberIn(event, Role::kSeq));
}

void MpiMatcher::startRequests(const event::Event& event) {
  using Begun = wire::BegunRequest;
  std::string_view list = event.pieces;
  Begun begun;
  while (wire::take(list, begun)) {
    OperationKind kind = OperationKind::kLocal;
    if (begun.kind == Begun::kSend) kind = OperationKind::kSend;
    if (begun.kind == Begun::kSyncSend) kind = OperationKind::kSyncSend;
    if (begun.kind == Begun::kReceive) kind = OperationKind::kReceive;
    OpenOperation* operation = make(kind, begun.comm);
    operation->facts.peer = narrow(begun.peer);
    operation->facts.tag = narrow(begun.tag);
    operation->facts.bytes = begun.bytes;
    operation->facts.seq = begun.seq;
    remember(operation, begun.request);
    if (kind == OperationKind::kReceive) {
      post(operation);
      events_.add(operation, Part::kBegun);
      if (begun.request == 0) dropReceive(operation, Match::kNoIdentity);
    } else if (kind == OperationKind::kLocal) {
      operation->facts.match = Match::kNobody;
      events_.add(operation, Part::kBegun);
    } else {
      addSend(operation, Part::kBegun);
    }
  }
}

void MpiMatcher::completeRequests(const event::Event& event) {
  using Done = wire::DoneRequest;
  std::string_view list = event.pieces;
  Done done;
  while (wire::take(list, done)) {
    OpenOperation* operation = recall(done.request);
    if (operation == nullptr) {
      // Begun before recording, or where events are missing.
      const bool given_up =
          done.request != 0 && done.request <= processes_[events_.current().process].forgotten;
      const bool message = done.kind == Done::kReceived;
      operation = make(message ? OperationKind::kReceive : OperationKind::kLocal, done.comm);
      operation->facts.request = done.request;
      operation->facts.started = {};
      operation->outstanding = message && !given_up;
      if (!message) operation->facts.match = Match::kNobody;
      if (given_up) operation->facts.match = Match::kGivenUp;
      OpenEvents::keep(operation);
    }
    events_.add(operation, Part::kEnded);
    fetch(operation);
    if (operation->outstanding) {
      if (done.kind == Done::kReceived) {
        // The group stands with the request as well, unless that was not known.
        if (operation->facts.own == nullptr) {
          operation->facts.own = groups_.own(events_.current().process, done.comm);
        }
        operation->facts.peer = narrow(done.source);
        operation->facts.tag = narrow(done.tag);
        operation->facts.bytes = done.bytes;
        operation->facts.is_size_known = !event.failed;
        arrive(operation, done.seq);
      } else {
        dropReceive(operation,
                    done.kind == Done::kCancelled ? Match::kCancelled : Match::kNoIdentity);
      }
    } else if (done.kind == Done::kCancelled &&
               operation->facts.kind != OperationKind::kCollective) {  // those cannot be
      giveUp(operation, Match::kCancelled);
    }
    events_.release(operation);
  }
}

// A receive of the message that a matched probe took.
void MpiMatcher::completeMatched(const event::Event& event) {
  OpenOperation* operation = recall(numberIn(event, Role::kRequest));
  if (operation == nullptr) return;
  events_.add(operation, Part::kEnded);
  operation->fetched = events_.current();
  fetch(operation);
  // No matched probe's: the trace is damaged.
  if (operation->outstanding) dropReceive(operation, Match::kNoIdentity);
  events_.release(operation);
}

void MpiMatcher::collective(const event::Event& event) {
  // Where only some ranks of a communicator make the call, the new one says which they are.
  const bool of_new = calls::does(*event.row, calls::Effect::kKnownByNewGroup);
  const std::uint64_t group = numberIn(event, of_new ? Role::kNewComm : Role::kComm);
  OpenOperation* operation = make(OperationKind::kCollective, group);
  const std::uint64_t seq = of_new ? 0 : numberIn(event, Role::kSeq);
  operation->facts.seq = seq;
  operation->facts.bytes = numberIn(event, Role::kSize);
  if (has(event, Role::kRoot)) operation->facts.root = rankIn(event, Role::kRoot);
  const bool goes_on = has(event, Role::kRequest);
  if (goes_on) remember(operation, numberIn(event, Role::kRequest));
  const bool known = operation->facts.own != nullptr && (of_new || seq != 0);
  if (!known) operation->facts.match = Match::kNoIdentity;
  events_.add(operation, goes_on ? Part::kBegun : Part::kWhole);
  if (known) collectives_.add(operation, seq);
}

void MpiMatcher::epochs(const event::Event& event, OperationKind kind) {
  std::string_view list = event.pieces;
  wire::Member member;
  while (wire::take(list, member)) {
    OpenOperation* operation = make(kind, numberIn(event, Role::kComm));
    operation->facts.peer = narrow(static_cast<std::int64_t>(member.rank));
    operation->facts.seq = member.seq;
    const bool known = operation->facts.own != nullptr && member.seq != 0;
    if (!known) operation->facts.match = Match::kNoIdentity;
    events_.add(operation, Part::kWhole);
    if (known) epochs_.add(operation);
  }
}

void MpiMatcher::localRequest(const event::Event& event) {
  const std::uint64_t request = numberIn(event, Role::kRequest);
  const CallId call = event.row->plain;
  if (call == CallId::MPI_Cancel || request == 0) return;
  if (call == CallId::MPI_Imrecv || call == CallId::MPI_Request_free) {
    OpenOperation* operation = recall(request);
    if (operation == nullptr) return;
    if (call == CallId::MPI_Request_free) return endUnseen(operation);
    events_.add(operation, Part::kNamed);
    operation->fetched = events_.current();
    fetch(operation);
    processes_[events_.current().process].requests[request] = operation;
    ++requests_;
    return;
  }
  OpenOperation* operation = make(OperationKind::kLocal, numberIn(event, Role::kComm));
  operation->facts.match = Match::kNobody;
  remember(operation, request);
  events_.add(operation, Part::kBegun);
}

}  // namespace omnio::order
