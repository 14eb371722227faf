#include "core/order/matched_event.hpp"

#include <algorithm>
#include <bit>

#include "core/base/text_table.hpp"
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

// The root of a call on an intercommunicator says so by a rank of its own (MPI_ROOT), the others of
// its side by MPI_PROC_NULL, and the other side by its rank (MPI-3.1, section 5.2.3).
bool isRoot(const MpiOperation& operation, const mpi::RankGroup& group) {
  if (!group.hasSides()) return operation.root == operation.own->rank;
  return operation.root < 0 && operation.root != calls::kProcNull;
}

}  // namespace

const MpiCollective::Arrival* rootOf(const MpiOperation& operation, const mpi::MpiGroups& groups) {
  if (operation.collective == nullptr || operation.own == nullptr) return nullptr;
  const mpi::OwnGroup& own = *operation.own;
  const mpi::RankGroup& group = groups.group(own.group);
  if (isRoot(operation, group)) return operation.collective->of(group.memberOf(own.side, own.rank));
  const unsigned side = groups.sideOfPeers(own);
  if (operation.root < 0 || operation.root >= group.size[side]) return nullptr;
  return operation.collective->of(group.memberOf(side, operation.root));
}

using calls::Sync;

const MpiCollective::Arrival* stayedFor(const MpiOperation& operation, const MpiEventRef& stay,
                                        const mpi::MpiGroups& groups) {
  constexpr std::size_t kAllTakeFromTheRoot = 8;
  const Sync sync = operation.started.row->sync;
  const bool is_rooted = sync == Sync::kFromRoot || sync == Sync::kToRoot;
  if (!is_rooted || operation.bytes < kMayWaitForReceiver) return nullptr;
  const MpiCollective::Arrival* const root = rootOf(operation, groups);
  if (root == nullptr || groups.group(operation.own->group).hasSides()) return nullptr;
  const auto came_meanwhile = [&](const MpiCollective::Arrival& arrival) {
    return arrival.event.start_ns > stay.start_ns && arrival.event.start_ns < stay.end_ns;
  };
  const auto self = static_cast<std::uint32_t>(operation.own->rank);
  if (sync == Sync::kToRoot) return root->member != self && came_meanwhile(*root) ? root : nullptr;
  if (root->member != self) return nullptr;
  const auto& arrivals = operation.collective->arrivals;
  const std::size_t size = operation.collective->by_member.size();
  for (std::size_t i = arrivals.size(); i-- > 0;) {
    const MpiCollective::Arrival& arrival = arrivals[i];
    if (arrival.event.start_ns <= stay.start_ns) break;
    const std::size_t distance = (arrival.member + size - self) % size;
    const bool takes_from_root = size <= kAllTakeFromTheRoot || std::has_single_bit(distance);
    if (takes_from_root && came_meanwhile(arrival)) return &arrival;
  }
  // All came before, and on other storage they may not.
  if (operation.bytes < kWaitsForReceiver) return nullptr;
  const MpiCollective::Arrival* const next = operation.collective->of((self + 1) % size);
  return next != root && next != nullptr && next->event.start_ns <= stay.start_ns ? next : nullptr;
}

namespace {

// Such a send is complete when the message has been copied (MPI-3.1, section 3.4). MPI_Start does
// not tell of which mode the sends are that it starts.
bool isBuffered(const calls::Row& row) { return calls::does(row, calls::Effect::kBuffered); }

// Finds the last peer that an event waited for, of all its operations.
class Judge {
 public:
  Judge(const WaitingRules& rules, const MpiEventRef& event) : rules_(rules), event_(event) {}

  // nullptr: none was waited for.
  const MpiEventRef* last() const { return last_.row != nullptr ? &last_ : nullptr; }

  void considerPeersOf(const MpiOperation& operation) {
    if (operation.match != Match::kMatched) return;
    switch (operation.kind) {
      case OperationKind::kSyncSend:
        considerIfInTime(operation.awaited);
        [[fallthrough]];
      case OperationKind::kReceive:
      case OperationKind::kProbe:
      case OperationKind::kWait:
        // Cannot end before: that it seems to is the clocks' fault.
        consider(operation.counterpart);
        break;
      case OperationKind::kSend:
        if (isBuffered(*operation.started.row)) break;
        considerIfInTime(operation.awaited);
        [[fallthrough]];
      case OperationKind::kStart:
        considerIfInTime(operation.counterpart);
        break;
      case OperationKind::kComplete:
        considerIfInTime(operation.awaited);
        break;
      case OperationKind::kCollective:
        considerMembers(operation);
        break;
      case OperationKind::kPost:
      case OperationKind::kLocal:
        break;
    }
  }

 private:
  bool cameBeforeTheEnd(const MpiEventRef& peer) const {
    return peer.start_ns <= event_.end_ns + rules_.slack(event_.process, peer.process);
  }
  void consider(const MpiEventRef& peer) {
    if (peer.row == nullptr) return;
    if (last_.row == nullptr || peer.start_ns > last_.start_ns) last_ = peer;
  }
  void considerIfInTime(const MpiEventRef& peer) {
    if (peer.row != nullptr && cameBeforeTheEnd(peer)) consider(peer);
  }

  // Considers the last arrival before the event's end of those on which the event `depends`.
  template <typename Depends>
  void considerArrivals(const MpiCollective& collective, Depends depends) {
    const auto& arrivals = collective.arrivals;
    const std::int64_t limit = event_.end_ns + rules_.most_slack_ns;
    auto at = std::ranges::upper_bound(arrivals, limit, {},
                                       [](const auto& a) { return a.event.start_ns; });
    while (at != arrivals.begin()) {
      --at;
      if (depends(at->member) && cameBeforeTheEnd(at->event)) return consider(at->event);
    }
  }

  void considerStay(const MpiOperation& operation) {
    const auto* const arrival = stayedFor(operation, event_, *rules_.groups);
    if (arrival != nullptr) consider(arrival->event);
  }

  void considerMembers(const MpiOperation& operation) {
    const MpiCollective& collective = *operation.collective;
    const mpi::RankGroup& group = rules_.groups->group(operation.own->group);
    const std::uint32_t self = group.memberOf(operation.own->side, operation.own->rank);
    const unsigned peer_side = rules_.groups->sideOfPeers(*operation.own);
    const auto consider_peer = [&](std::int32_t rank) {
      if (rank < 0 || rank >= group.size[peer_side]) return;
      const auto* peer = collective.of(group.memberOf(peer_side, rank));
      if (peer != nullptr) considerIfInTime(peer->event);
    };
    switch (operation.started.row->sync) {
      case Sync::kAll:
        considerArrivals(collective, [&](std::uint32_t member) { return member != self; });
        break;
      case Sync::kPrefix: {
        // The lower ranks come last as a rule, so that looking for them one by one takes long.
        const std::uint32_t lower =
            self < collective.last_below.size() ? collective.last_below[self] : 0;
        if (lower != 0 && cameBeforeTheEnd(collective.arrivals[lower - 1].event)) {
          consider(collective.arrivals[lower - 1].event);
        } else {
          considerArrivals(collective, [&](std::uint32_t member) { return member < self; });
        }
        break;
      }
      case Sync::kFromRoot:
        if (isRoot(operation, group)) considerStay(operation);
        if (!isRoot(operation, group)) consider_peer(operation.root);
        break;
      case Sync::kToRoot: {
        if (!isRoot(operation, group)) {
          considerStay(operation);
          break;
        }
        const auto first = static_cast<std::uint32_t>(peer_side == 0 ? 0 : group.size[0]);
        const auto count = static_cast<std::uint32_t>(group.size[peer_side]);
        considerArrivals(collective, [&](std::uint32_t member) {
          return member != self && member - first < count;
        });
        break;
      }
      case Sync::kNeighbours:
        for (const std::int32_t source : operation.own->sources) consider_peer(source);
        break;
      default:
        break;
    }
  }

  const WaitingRules& rules_;
  const MpiEventRef& event_;
  MpiEventRef last_;
};

}  // namespace

void fillWaiting(MatchedEvent& event, const WaitingRules& rules) {
  Judge judge(rules, event.event);
  // The last of several decides, also where the first would have been enough (MPI_Waitsome): such a
  // call ends soon after the first, and what looks like the first may not have been. A large send
  // whose receive was posted long ago is not complete before its receiver is in MPI again.
  bool known = true;
  for (const EventPart& part : event.parts) {
    if (part.part == Part::kBegun || part.part == Part::kNamed) continue;
    known = known && !isUnmatched(part.operation->match);
    judge.considerPeersOf(*part.operation);
  }
  event.waited_ns = 0;
  event.late = mpi::kNoProcess;
  if (!known) {
    event.waited_ns.reset();
    return;
  }
  const MpiEventRef* last = judge.last();
  if (last == nullptr) return;
  const std::int64_t duration = std::max<std::int64_t>(event.duration(), 0);
  event.waited_ns = std::clamp<std::int64_t>(last->start_ns - event.event.start_ns, 0, duration);
  if (*event.waited_ns > 0) event.late = last->process;
  event.early_ns = std::max<std::int64_t>(last->start_ns - event.event.end_ns, 0);
}

}  // namespace omnio::order
