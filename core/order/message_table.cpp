#include "core/order/message_table.hpp"

#include "core/base/hash_mix.hpp"

namespace omnio::order {
namespace {

bool isSend(const MpiOperation& operation) {
  return operation.kind == OperationKind::kSend || operation.kind == OperationKind::kSyncSend;
}

}  // namespace

std::size_t MpiMessageTable::Hash::operator()(const Key& key) const {
  const std::uint64_t sent = std::uint64_t{key.group} << 32 | key.sender;
  const std::uint64_t received = std::uint64_t{static_cast<std::uint32_t>(key.receiver)} << 32 |
                                 static_cast<std::uint32_t>(key.tag);
  return base::mixed(sent, received, key.seq);
}

MpiMessageTable::Key MpiMessageTable::keyOf(const MpiOperation& operation) const {
  const mpi::OwnGroup& own = *operation.own;
  const bool sends = isSend(operation);
  const unsigned side = sends ? own.side : groups_.sideOfPeers(own);
  const std::int32_t sender = sends ? own.rank : operation.peer;
  return {own.group, static_cast<std::uint32_t>(sender) << 1 | side,
          sends ? operation.peer : own.rank, operation.tag, operation.seq};
}

mpi::ProcessIndex MpiMessageTable::peerOf(const MpiOperation& operation) const {
  const mpi::OwnGroup& own = *operation.own;
  return groups_.processOf(own.group, groups_.sideOfPeers(own), operation.peer);
}

void MpiMessageTable::resolve(OpenOperation*& end, Match match) {
  if (end == nullptr) return;
  events_.resolve(end, match);
  events_.release(end);
  end = nullptr;
}

void MpiMessageTable::resolveProbes(Message& message, Match match) {
  while (OpenOperation* probe = message.probes) {
    message.probes = probe->next_probe;
    probe->next_probe = nullptr;
    if (match == Match::kMatched) probe->facts.counterpart = message.send->facts.started;
    resolve(probe, match);
  }
}

void MpiMessageTable::resolveAll(Message& message, Match match) {
  resolveProbes(message, match);
  resolve(message.send, match);
  resolve(message.receive, match);
}

void MpiMessageTable::add(OpenOperation* operation) {
  const MpiOperation& facts = operation->facts;
  const mpi::ProcessIndex peer = peerOf(facts);
  if (peer == mpi::kNoProcess) {
    events_.resolve(operation, Match::kNotInTrace);
    return;
  }
  const bool gone = ended_[peer];
  const Key key = keyOf(facts);
  auto found = messages_.find(key);
  if (found == messages_.end()) {
    // Nobody would give it up again.
    if (facts.match == Match::kGivenUp) return;
    if (gone) {
      events_.resolve(operation, Match::kNeverCame);
      return;
    }
    found = messages_.try_emplace(key).first;
  }
  Message& message = found->second;
  if (facts.kind == OperationKind::kProbe) {
    OpenEvents::keep(operation);
    operation->next_probe = message.probes;
    message.probes = operation;
    if (message.send != nullptr) resolveProbes(message, Match::kMatched);
    return;
  }
  OpenOperation*& end = isSend(facts) ? message.send : message.receive;
  // Two of one number: the trace is damaged.
  if (end != nullptr) {
    events_.resolve(operation, Match::kNoIdentity);
    return;
  }
  OpenEvents::keep(operation);
  end = operation;
  if (message.send == nullptr) return;
  resolveProbes(message, Match::kMatched);
  if (message.receive == nullptr) return;
  // A message has one size. Calls of threads that race on a stream return in another order than
  // that in which MPI took their messages, and so may have each other's numbers.
  const bool is_one = message.send->facts.bytes == message.receive->facts.bytes;
  if (is_one) {
    message.send->facts.counterpart = message.receive->facts.started;
    message.send->facts.awaited = message.receive->fetched;
    message.receive->facts.counterpart = message.send->facts.started;
  }
  Message both = message;
  messages_.erase(found);
  resolveAll(both, is_one ? Match::kMatched : Match::kNoIdentity);
}

void MpiMessageTable::giveUp(OpenOperation* operation, Match match) {
  const auto found = messages_.find(keyOf(operation->facts));
  if (found == messages_.end()) {
    events_.resolve(operation, match);
    return;
  }
  // One of its ends has not come, so whatever has of this message waits in vain.
  Message message = found->second;
  messages_.erase(found);
  resolveAll(message, match);
}

void MpiMessageTable::sweep() {
  for (auto it = messages_.begin(); it != messages_.end();) {
    const Message& message = it->second;
    const OpenOperation* there = message.send != nullptr      ? message.send
                                 : message.receive != nullptr ? message.receive
                                                              : message.probes;
    if (there != nullptr && !ended_[peerOf(there->facts)]) {
      ++it;
      continue;
    }
    Message in_vain = it->second;
    it = messages_.erase(it);
    resolveAll(in_vain, Match::kNeverCame);
  }
}

}  // namespace omnio::order
