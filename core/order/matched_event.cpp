#include "core/order/matched_event.hpp"

#include <algorithm>

#include "core/base/word_table.hpp"
#include "core/calls/role.hpp"

namespace omnio::order {

namespace {

constexpr base::Word<Match> kMatchWords[] = {
    {Match::kOpen, "open"},
    {Match::kMatched, "matched"},
    {Match::kNobody, "needs none"},
    {Match::kCancelled, "cancelled"},
    {Match::kNoIdentity, "the trace does not say which group or message it was"},
    {Match::kNotInTrace, "a rank that was not traced"},
    {Match::kNeverCame, "the counterpart is not in its rank's log"},
    {Match::kNotComplete, "never found complete"},
    {Match::kGivenUp, "given up since too much was open"},
};

}  // namespace

std::string_view wordsOf(Match match) { return base::wordOf(kMatchWords, match); }

bool MatchedEvent::matched() const {
  return std::none_of(parts.begin(), parts.end(),
                      [](const EventPart& part) { return isUnmatched(part.operation->match); });
}

std::uint64_t MpiCounts::Of::unmatched() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < by_match.size(); ++i) {
    if (isUnmatched(static_cast<Match>(i))) sum += by_match[i];
  }
  return sum;
}

void MpiCounts::Of::add(Match match) {
  ++all;
  ++by_match[static_cast<std::size_t>(match)];
}

namespace {

using calls::Sync;

// The peer that was waited for, and when it came; no process: none was.
struct LastPeer {
  std::int64_t start_ns = 0;
  mpi::ProcessIndex process = mpi::kNoProcess;
};

struct Judge {
  const WaitingRules& rules;
  const MpiEventRef& event;

  bool cameBeforeTheEnd(const MpiEventRef& peer) const {
    return peer.start_ns <= event.end_ns + rules.slack(event.process, peer.process);
  }
  void consider(const MpiEventRef& peer, LastPeer& last) const {
    if (peer.row == nullptr) return;
    if (last.process == mpi::kNoProcess || peer.start_ns > last.start_ns) {
      last = {peer.start_ns, peer.process};
    }
  }
  void considerIfInTime(const MpiEventRef& peer, LastPeer& last) const {
    if (peer.row != nullptr && cameBeforeTheEnd(peer)) consider(peer, last);
  }
};

// Considers the last arrival before the event's end of those on which the event `depends`.
template <typename Depends>
void lastArrival(const MpiCollective& collective, const Judge& judge, Depends depends,
                 LastPeer& last) {
  const auto& arrivals = collective.arrivals;
  const std::int64_t limit = judge.event.end_ns + judge.rules.most_slack_ns;
  auto at =
      std::ranges::upper_bound(arrivals, limit, {}, [](const auto& a) { return a.event.start_ns; });
  while (at != arrivals.begin()) {
    --at;
    if (depends(at->member) && judge.cameBeforeTheEnd(at->event)) {
      judge.consider(at->event, last);
      return;
    }
  }
}

// The root of a call on an intercommunicator says so by a rank of its own (MPI_ROOT), the others of
// its side by MPI_PROC_NULL, and the other side by its rank (MPI-3.1, section 5.2.3).
bool isRoot(const MpiOperation& operation, const mpi::RankGroup& group) {
  if (!group.hasSides()) return operation.root == operation.own->rank;
  return operation.root < 0 && operation.root != calls::kProcNull;
}

void collectivePeers(const MpiOperation& operation, const Judge& judge, LastPeer& last) {
  const MpiCollective& collective = *operation.collective;
  const mpi::RankGroup& group = judge.rules.groups->group(operation.own->group);
  const std::uint32_t self = group.memberOf(operation.own->side, operation.own->rank);
  const unsigned peer_side = judge.rules.groups->sideOfPeers(*operation.own);
  const auto of_peers = [&](std::int32_t rank) {
    const bool is_one = rank >= 0 && rank < group.size[peer_side];
    return is_one ? collective.of(group.memberOf(peer_side, rank)) : nullptr;
  };
  switch (operation.started.row->sync) {
    case Sync::kAll:
      lastArrival(
          collective, judge, [&](std::uint32_t member) { return member != self; }, last);
      break;
    case Sync::kPrefix: {
      // The lower ranks come last as a rule, so that looking for them one by one takes long.
      const std::uint32_t lower =
          self < collective.last_below.size() ? collective.last_below[self] : 0;
      if (lower != 0 && judge.cameBeforeTheEnd(collective.arrivals[lower - 1].event)) {
        judge.consider(collective.arrivals[lower - 1].event, last);
        break;
      }
      lastArrival(
          collective, judge, [&](std::uint32_t member) { return member < self; }, last);
      break;
    }
    case Sync::kFromRoot:
      if (!isRoot(operation, group)) {
        if (const auto* root = of_peers(operation.root)) judge.considerIfInTime(root->event, last);
      }
      break;
    case Sync::kToRoot: {
      if (!isRoot(operation, group)) break;
      const auto first = static_cast<std::uint32_t>(peer_side == 0 ? 0 : group.size[0]);
      const auto count = static_cast<std::uint32_t>(group.size[peer_side]);
      lastArrival(
          collective, judge,
          [&](std::uint32_t member) { return member != self && member - first < count; }, last);
      break;
    }
    case Sync::kNeighbours:
      for (const std::int32_t source : operation.own->sources) {
        if (const auto* peer = of_peers(source)) judge.considerIfInTime(peer->event, last);
      }
      break;
    default:
      break;
  }
}

// Such a send is complete when the message has been copied (MPI-3.1, section 3.4). MPI_Start does
// not tell of which mode the sends are that it starts.
bool isBuffered(const calls::Row& row) { return calls::does(row, calls::Effect::kBuffered); }

LastPeer lastPeerOf(const MpiOperation& operation, const Judge& judge) {
  LastPeer last;
  if (operation.match != Match::kMatched) return last;
  switch (operation.kind) {
    case OperationKind::kSyncSend:
      judge.considerIfInTime(operation.awaited, last);
      [[fallthrough]];
    case OperationKind::kReceive:
    case OperationKind::kProbe:
    case OperationKind::kWait:
      // Cannot end before: that it seems to is the clocks' fault.
      judge.consider(operation.counterpart, last);
      break;
    case OperationKind::kSend:
      if (isBuffered(*operation.started.row)) break;
      judge.considerIfInTime(operation.awaited, last);
      [[fallthrough]];
    case OperationKind::kStart:
      judge.considerIfInTime(operation.counterpart, last);
      break;
    case OperationKind::kComplete:
      judge.considerIfInTime(operation.awaited, last);
      break;
    case OperationKind::kCollective:
      collectivePeers(operation, judge, last);
      break;
    case OperationKind::kPost:
    case OperationKind::kLocal:
      break;
  }
  return last;
}

// A call that finds nothing complete returns at once, so one that has found something did not wait.
bool neverWaits(const calls::Row& row) { return calls::does(row, calls::Effect::kTests); }

}  // namespace

void fillWaiting(MatchedEvent& event, const WaitingRules& rules) {
  const Judge judge{rules, event.event};
  // The last of several decides, also where the first would have been enough (MPI_Waitsome): such a
  // call ends soon after the first, and what looks like the first may not have been. A large send
  // whose receive was posted long ago is not complete before its receiver is in MPI again.
  LastPeer last;
  bool known = true;
  for (const EventPart& part : event.parts) {
    if (part.part == Part::kBegun || part.part == Part::kNamed) continue;
    known = known && !isUnmatched(part.operation->match);
    const LastPeer peer = lastPeerOf(*part.operation, judge);
    if (peer.process == mpi::kNoProcess) continue;
    if (last.process == mpi::kNoProcess || peer.start_ns > last.start_ns) last = peer;
  }
  event.waited_ns = 0;
  event.late = mpi::kNoProcess;
  if (neverWaits(*event.event.row)) return;
  if (!known) {
    event.waited_ns.reset();
    return;
  }
  if (last.process == mpi::kNoProcess) return;
  const std::int64_t duration = std::max<std::int64_t>(event.duration(), 0);
  event.waited_ns = std::clamp<std::int64_t>(last.start_ns - event.event.start_ns, 0, duration);
  if (*event.waited_ns > 0) event.late = last.process;
}

}  // namespace omnio::order
