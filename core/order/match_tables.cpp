#include "core/order/match_tables.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace omnio::order {
namespace {

std::uint64_t joined(std::uint32_t high, std::int32_t low) {
  return std::uint64_t{high} << 32 | static_cast<std::uint32_t>(low);
}

bool isSend(const MpiOperation& operation) {
  return operation.kind == OperationKind::kSend || operation.kind == OperationKind::kSyncSend;
}

}  // namespace

mpi::ProcessIndex MatchTable::peerOf(const MpiOperation& operation) const {
  const mpi::OwnGroup& own = *operation.own;
  return groups_.processOf(own.group, groups_.sideOfPeers(own), operation.peer);
}

void MatchTable::resolve(OpenOperation*& held, Match match) {
  if (held == nullptr) return;
  OpenOperation* const operation = std::exchange(held, nullptr);
  events_.resolve(operation, match);
  events_.release(operation);
}

// ---- messages ----

std::size_t MpiMessageTable::Hash::operator()(const Key& key) const {
  const std::uint64_t sent = std::uint64_t{key.group} << 32 | key.sender;
  return base::mixed(sent, joined(static_cast<std::uint32_t>(key.receiver), key.tag), key.seq);
}

MpiMessageTable::Key MpiMessageTable::keyOf(const MpiOperation& operation) const {
  const mpi::OwnGroup& own = *operation.own;
  const bool sends = isSend(operation);
  const unsigned side = sends ? own.side : groups_.sideOfPeers(own);
  const std::int32_t sender = sends ? own.rank : operation.peer;
  return {own.group, static_cast<std::uint32_t>(sender) << 1 | side,
          sends ? operation.peer : own.rank, operation.tag, operation.seq};
}

void MpiMessageTable::resolveProbes(Message& message, Match match) {
  while (OpenOperation* probe = message.probes) {
    message.probes = std::exchange(probe->next_probe, nullptr);
    if (match == Match::kMatched) probe->facts.counterpart = message.send->facts.started;
    resolve(probe, match);
  }
}

// Takes a message that the table no longer holds.
void MpiMessageTable::resolveAll(Message message, Match match) {
  resolveProbes(message, match);
  resolve(message.send, match);
  resolve(message.receive, match);
}

void MpiMessageTable::add(OpenOperation* operation) {
  const MpiOperation& facts = operation->facts;
  const mpi::ProcessIndex peer = peerOf(facts);
  if (peer == mpi::kNoProcess) return events_.resolve(operation, Match::kNotInTrace);
  const Key key = keyOf(facts);
  auto found = messages_.find(key);
  if (found == messages_.end()) {
    // It would never be given up again.
    if (facts.match == Match::kGivenUp) return;
    if (ended_[peer]) return events_.resolve(operation, Match::kNeverCame);
    found = messages_.try_emplace(key).first;
  }
  Message& message = found->second;
  if (facts.kind == OperationKind::kProbe) {
    OpenEvents::keep(operation);
    operation->next_probe = std::exchange(message.probes, operation);
    if (message.send != nullptr) resolveProbes(message, Match::kMatched);
    return;
  }
  OpenOperation*& end = isSend(facts) ? message.send : message.receive;
  // Two of one number: the trace is damaged.
  if (end != nullptr) return events_.resolve(operation, Match::kNoIdentity);
  OpenEvents::keep(operation);
  end = operation;
  if (message.send == nullptr) return;
  resolveProbes(message, Match::kMatched);
  if (message.receive == nullptr) return;
  // A message has one size. Calls of threads that race on a stream return in another order than
  // that in which MPI took their messages, and so may have each other's numbers.
  MpiOperation& sent = message.send->facts;
  MpiOperation& received = message.receive->facts;
  const bool is_one = sent.bytes == received.bytes || !received.is_size_known;
  if (is_one) {
    sent.counterpart = received.started;
    sent.awaited = message.receive->fetched;
    received.counterpart = sent.started;
  }
  resolveAll(messages_.extract(found).mapped(), is_one ? Match::kMatched : Match::kNoIdentity);
}

void MpiMessageTable::giveUp(OpenOperation* operation, Match match) {
  const auto found = messages_.find(keyOf(operation->facts));
  if (found == messages_.end()) return events_.resolve(operation, match);
  // One of its ends has not come, so whatever has of this message waits in vain.
  resolveAll(messages_.extract(found).mapped(), match);
}

void MpiMessageTable::sweep() {
  for (auto it = messages_.begin(); it != messages_.end();) {
    const auto message = it++;
    const auto& [send, receive, probes] = message->second;
    const OpenOperation* there = send != nullptr ? send : receive != nullptr ? receive : probes;
    if (there != nullptr && !ended_[peerOf(there->facts)]) continue;
    resolveAll(messages_.extract(message).mapped(), Match::kNeverCame);
  }
}

// ---- calls of all of a group ----

namespace {

// The arrivals are in order. False when one came twice, or to another call: the trace is damaged.
bool fillByMember(MpiCollective& collective, std::size_t members) {
  const auto& arrivals = collective.arrivals;
  bool fits = true;
  collective.by_member.assign(members, 0);
  for (std::uint32_t i = 0; i < arrivals.size(); ++i) {
    std::uint32_t& entry = collective.by_member[arrivals[i].member];
    fits = fits && entry == 0 && arrivals[i].event.row->plain == arrivals[0].event.row->plain;
    entry = i + 1;
  }
  if (arrivals[0].event.row->sync == calls::Sync::kPrefix) {
    std::uint32_t last = 0;
    for (const std::uint32_t entry : collective.by_member) {
      collective.last_below.push_back(last);
      last = std::max(last, entry);
    }
  }
  return fits;
}

}  // namespace

mpi::ProcessIndex MpiCollectiveTable::processOf(mpi::GroupIndex group, std::uint32_t member) const {
  const auto first = static_cast<std::uint32_t>(groups_.group(group).size[0]);
  return member < first ? groups_.processOf(group, 0, member)
                        : groups_.processOf(group, 1, member - first);
}

void MpiCollectiveTable::add(OpenOperation* operation, std::uint64_t seq) {
  const mpi::OwnGroup& own = *operation->facts.own;
  const mpi::RankGroup& ranks = groups_.group(own.group);
  const std::uint32_t member = ranks.memberOf(own.side, own.rank);
  if (last_.size() <= own.group) last_.resize(groups_.size());
  std::vector<std::uint64_t>& last = last_[own.group];
  if (last.size() <= member) last.resize(ranks.ranks());
  last[member] = std::max(last[member], seq);

  const auto found = calls_.try_emplace({own.group, seq}).first;
  Call& call = found->second;
  if (call.collective == nullptr) call.collective = std::make_shared<MpiCollective>();
  call.collective->arrivals.push_back({member, operation->facts.started});
  call.operations.push_back(operation);
  operation->collective = call.collective;
  OpenEvents::keep(operation);
  if (call.operations.size() < ranks.known) return;
  settle(found, ranks.known < ranks.ranks() ? Match::kNotInTrace : Match::kMatched);
}

MpiCollectiveTable::Calls::iterator MpiCollectiveTable::settle(Calls::iterator found, Match match) {
  const std::uint32_t ranks = groups_.group(found->first.group).ranks();
  const Call call = std::move(found->second);
  const auto next = calls_.erase(found);
  auto& arrivals = call.collective->arrivals;
  std::ranges::sort(arrivals, {},
                    [](const auto& a) { return std::pair(a.event.start_ns, a.member); });
  // Not for the others: in a damaged trace their group may be huge, whoever came.
  if (match == Match::kMatched && !fillByMember(*call.collective, ranks)) match = Match::kNeverCame;
  for (OpenOperation* operation : call.operations) resolve(operation, match);
  return next;
}

void MpiCollectiveTable::giveUp(OpenOperation* operation, Match match) {
  for (const std::uint64_t seq : {operation->facts.seq, std::uint64_t{0}}) {
    const auto found = calls_.find({operation->facts.own->group, seq});
    if (found == calls_.end() || found->second.collective != operation->collective) continue;
    settle(found, match);
    return;
  }
  events_.resolve(operation, match);
}

// The number of the last call that has been seen of all members of whom more may come.
std::uint64_t MpiCollectiveTable::lastOfSlowest(mpi::GroupIndex group) const {
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  for (std::uint32_t member = 0; member < last_[group].size(); ++member) {
    if (!hasEnded(processOf(group, member))) last = std::min(last, last_[group][member]);
  }
  return last;
}

bool MpiCollectiveTable::everyoneElseHasEnded(const Key& key, const Call& call) const {
  std::vector<bool> came(groups_.group(key.group).ranks());
  for (const auto& arrival : call.collective->arrivals) came[arrival.member] = true;
  for (std::uint32_t member = 0; member < came.size(); ++member) {
    if (!came[member] && !hasEnded(processOf(key.group, member))) return false;
  }
  return true;
}

void MpiCollectiveTable::sweep() {
  std::unordered_map<mpi::GroupIndex, std::uint64_t> slowest;
  for (auto it = calls_.begin(); it != calls_.end();) {
    const auto& [key, call] = *it;
    bool in_vain = false;
    if (key.seq == 0) {
      in_vain = everyoneElseHasEnded(key, call);
    } else {
      const auto [last, is_new] = slowest.try_emplace(key.group);
      if (is_new) last->second = lastOfSlowest(key.group);
      in_vain = last->second >= key.seq;
    }
    it = in_vain ? settle(it, Match::kNeverCame) : std::next(it);
  }
}

// ---- epochs of windows ----

namespace {

// The calls of an epoch as indexes, in the order of their OperationKind.
enum EpochCall : std::uint8_t { kPosted, kStarted, kCompleted, kWaited };

EpochCall callOf(const MpiOperation& operation) {
  constexpr auto kFirst = static_cast<int>(OperationKind::kPost);
  static_assert(static_cast<int>(OperationKind::kStart) - kFirst == kStarted &&
                static_cast<int>(OperationKind::kComplete) - kFirst == kCompleted &&
                static_cast<int>(OperationKind::kWait) - kFirst == kWaited);
  return static_cast<EpochCall>(static_cast<int>(operation.kind) - kFirst);
}

bool came(const MpiEventRef& event) { return event.row != nullptr; }

}  // namespace

std::size_t MpiEpochTable::Hash::operator()(const Key& key) const {
  return base::mixed(joined(static_cast<std::uint32_t>(key.target), key.origin), key.group,
                     key.seq);
}

MpiEpochTable::Key MpiEpochTable::keyOf(const MpiOperation& operation) {
  const EpochCall call = callOf(operation);
  const bool is_target = call == kPosted || call == kWaited;
  const std::int32_t own = operation.own->rank;
  return {operation.own->group, is_target ? own : operation.peer, is_target ? operation.peer : own,
          operation.seq};
}

void MpiEpochTable::add(OpenOperation* operation) {
  const MpiOperation& facts = operation->facts;
  if (peerOf(facts) == mpi::kNoProcess) return events_.resolve(operation, Match::kNotInTrace);
  const auto [found, is_new] = epochs_.try_emplace(keyOf(facts));
  Epoch& epoch = found->second;
  if (is_new) epoch.start_ns = facts.started.start_ns;
  const EpochCall call = callOf(facts);
  // Two of one number: the trace is damaged.
  if (came(epoch.events[call])) return events_.resolve(operation, Match::kNoIdentity);
  OpenEvents::keep(operation);
  epoch.events[call] = facts.started;
  epoch.open[call] = operation;
  settle(epoch);
  if (std::ranges::all_of(epoch.events, came)) epochs_.erase(found);
}

void MpiEpochTable::settle(Epoch& epoch) {
  const auto pair = [&](EpochCall one, EpochCall other) {
    if (!came(epoch.events[other]) || epoch.open[one] == nullptr) return;
    epoch.open[one]->facts.counterpart = epoch.events[other];
    resolve(epoch.open[one], Match::kMatched);
  };
  pair(kPosted, kStarted);
  pair(kStarted, kPosted);
  pair(kWaited, kCompleted);
  if (!came(epoch.events[kPosted]) || epoch.open[kCompleted] == nullptr) return;
  epoch.open[kCompleted]->facts.awaited = epoch.events[kPosted];
  pair(kCompleted, kWaited);
}

MpiEpochTable::Epochs::iterator MpiEpochTable::giveUp(Epochs::iterator found, Match match) {
  Epoch epoch = found->second;
  const auto next = epochs_.erase(found);
  for (OpenOperation*& open : epoch.open) resolve(open, match);
  return next;
}

void MpiEpochTable::giveUp(OpenOperation* operation, Match match) {
  const auto found = epochs_.find(keyOf(operation->facts));
  if (found == epochs_.end()) return events_.resolve(operation, match);
  giveUp(found, match);
}

void MpiEpochTable::forgetOldest() {
  std::vector<std::int64_t> starts;
  starts.reserve(epochs_.size());
  for (const auto& [key, epoch] : epochs_) starts.push_back(epoch.start_ns);
  const auto last = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 16);
  std::nth_element(starts.begin(), last, starts.end());
  for (auto it = epochs_.begin(); it != epochs_.end();) {
    it = it->second.start_ns > *last ? std::next(it) : giveUp(it, Match::kGivenUp);
  }
}

void MpiEpochTable::sweep() {
  for (auto it = epochs_.begin(); it != epochs_.end();) {
    const auto& [key, epoch] = *it;
    bool any = false;
    for (OpenOperation*& open : it->second.open) {
      if (open != nullptr && ended_[peerOf(open->facts)]) resolve(open, Match::kNeverCame);
      any = any || open != nullptr;
    }
    const bool both_ended = hasEnded(groups_.processOf(key.group, 0, key.target)) &&
                            hasEnded(groups_.processOf(key.group, 0, key.origin));
    it = !any && both_ended ? epochs_.erase(it) : std::next(it);
  }
}

}  // namespace omnio::order
