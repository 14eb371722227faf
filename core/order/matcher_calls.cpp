// What each call says, as operations that it begins, ends, or both.
#include <algorithm>
#include <limits>
#include <string_view>

#include "core/order/matcher.hpp"

namespace omnio::order {
namespace {

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
  // What failed has done nothing that its arguments say, unless there is a list of what it found.
  const bool failed = event.failed;
  switch (event.row->sync) {
    case Sync::kNone:
      if (!failed && has(event, Role::kRequest)) localRequest(event);
      if (event.row->variant_of == "MPI_Finalize") {
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
      if (has(event, Role::kDone)) {
        completeRequests(event);
      } else {
        completeMatched(event);
      }
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

void MpiMatcher::sendOf(const event::Event& event, Role peer, Role tag, Role seq, Part part) {
  const bool waits = event.row->sync == Sync::kSyncSend;
  OpenOperation* operation =
      make(waits ? OperationKind::kSyncSend : OperationKind::kSend, numberIn(event, Role::kComm));
  operation->facts.peer = rankIn(event, peer);
  operation->facts.tag = rankIn(event, tag);
  operation->facts.seq = numberIn(event, seq);
  operation->facts.bytes = numberIn(event, Role::kSize);
  if (part == Part::kBegun) remember(operation, numberIn(event, Role::kRequest));
  addSend(operation, part);
}

void MpiMatcher::receiveOf(const event::Event& event, Role peer, Role tag, Role seq) {
  OpenOperation* operation = make(OperationKind::kReceive, numberIn(event, Role::kComm));
  operation->facts.peer = rankIn(event, peer);
  operation->facts.tag = rankIn(event, tag);
  operation->facts.bytes = numberIn(event, Role::kGot);
  if (has(event, Role::kRequest)) {  // a matched probe
    remember(operation, numberIn(event, Role::kRequest));
    operation->to_be_fetched = operation->facts.request != 0;
  }
  post(operation);
  events_.add(operation, Part::kWhole);
  arrive(operation, numberIn(event, seq));
}

void MpiMatcher::beginReceive(const event::Event& event) {
  OpenOperation* operation = make(OperationKind::kReceive, numberIn(event, Role::kComm));
  operation->facts.peer = rankIn(event, Role::kPeer);
  operation->facts.tag = rankIn(event, Role::kTag);
  operation->facts.bytes = numberIn(event, Role::kSize);
  remember(operation, numberIn(event, Role::kRequest));
  post(operation);
  events_.add(operation, Part::kBegun);
  // Of one that is complete already nothing more will be told.
  if (operation->facts.request == 0) dropReceive(operation, Match::kNoIdentity);
}

void MpiMatcher::probeOf(const event::Event& event) {
  OpenOperation* operation = make(OperationKind::kProbe, numberIn(event, Role::kComm));
  operation->facts.peer = rankIn(event, Role::kPeer);
  operation->facts.tag = rankIn(event, Role::kTag);
  operation->facts.bytes = numberIn(event, Role::kGot);
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
  // Of calls by some of a communicator it is the new one that says who they are.
  constexpr std::string_view kOfNew[] = {"MPI_Comm_create_group", "MPI_Intercomm_create"};
  const std::string_view name = event.row->variant_of;
  const bool of_new = std::find(std::begin(kOfNew), std::end(kOfNew), name) != std::end(kOfNew);
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
  const std::string_view name = event.row->variant_of;
  if (name == "MPI_Cancel" || request == 0) return;
  if (name == "MPI_Imrecv" || name == "MPI_Request_free") {
    OpenOperation* operation = recall(request);
    if (operation == nullptr) return;
    if (name == "MPI_Imrecv") {
      events_.add(operation, Part::kNamed);
      operation->fetched = events_.current();
      fetch(operation);
      processes_[events_.current().process].requests[request] = operation;
      ++requests_;
      return;
    }
    fetch(operation);
    if (operation->outstanding) dropReceive(operation, Match::kNotComplete);
    events_.release(operation);
    return;
  }
  OpenOperation* operation = make(OperationKind::kLocal, numberIn(event, Role::kComm));
  operation->facts.match = Match::kNobody;
  remember(operation, request);
  events_.add(operation, Part::kBegun);
}

}  // namespace omnio::order
