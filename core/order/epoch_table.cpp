#include "core/order/epoch_table.hpp"

#include <algorithm>

#include "core/base/hash_mix.hpp"

namespace omnio::order {

std::size_t MpiEpochTable::Hash::operator()(const Key& key) const {
  const std::uint64_t ranks = std::uint64_t{static_cast<std::uint32_t>(key.target)} << 32 |
                              static_cast<std::uint32_t>(key.origin);
  return base::mixed(ranks, key.group, key.seq);
}

MpiEpochTable::EpochCall MpiEpochTable::callOf(const MpiOperation& operation) {
  switch (operation.kind) {
    case OperationKind::kPost:
      return kPosted;
    case OperationKind::kStart:
      return kStarted;
    case OperationKind::kComplete:
      return kCompleted;
    default:
      return kWaited;
  }
}

MpiEpochTable::Key MpiEpochTable::keyOf(const MpiOperation& operation) {
  const EpochCall call = callOf(operation);
  const bool is_target = call == kPosted || call == kWaited;
  const std::int32_t own = operation.own->rank;
  return {operation.own->group, is_target ? own : operation.peer, is_target ? operation.peer : own,
          operation.seq};
}

mpi::ProcessIndex MpiEpochTable::peerOf(const MpiOperation& operation) const {
  return groups_.processOf(operation.own->group, operation.own->side, operation.peer);
}

void MpiEpochTable::resolve(OpenOperation*& operation, Match match) {
  if (operation == nullptr) return;
  OpenOperation* resolved = operation;
  operation = nullptr;
  events_.resolve(resolved, match);
  events_.release(resolved);
}

void MpiEpochTable::add(OpenOperation* operation) {
  const mpi::ProcessIndex peer = peerOf(operation->facts);
  if (peer == mpi::kNoProcess) {
    events_.resolve(operation, Match::kNotInTrace);
    return;
  }
  const Key key = keyOf(operation->facts);
  const auto [found, is_new] = epochs_.try_emplace(key);
  Epoch& epoch = found->second;
  if (is_new) epoch.start_ns = operation->facts.started.start_ns;
  const EpochCall call = callOf(operation->facts);
  if (epoch.events[call].row != nullptr) {  // two of one number: the trace is damaged
    events_.resolve(operation, Match::kNoIdentity);
    return;
  }
  OpenEvents::keep(operation);
  epoch.events[call] = operation->facts.started;
  epoch.open[call] = operation;
  settle(epoch);
  const auto came = [](const MpiEventRef& event) { return event.row != nullptr; };
  if (std::all_of(epoch.events.begin(), epoch.events.end(), came)) epochs_.erase(found);
}

void MpiEpochTable::settle(Epoch& epoch) {
  const auto pair = [&](EpochCall one, EpochCall other) {
    if (epoch.events[other].row == nullptr || epoch.open[one] == nullptr) return;
    epoch.open[one]->facts.counterpart = epoch.events[other];
    resolve(epoch.open[one], Match::kMatched);
  };
  pair(kPosted, kStarted);
  pair(kStarted, kPosted);
  pair(kWaited, kCompleted);
  if (epoch.events[kPosted].row == nullptr || epoch.open[kCompleted] == nullptr) return;
  epoch.open[kCompleted]->facts.awaited = epoch.events[kPosted];
  pair(kCompleted, kWaited);
}

void MpiEpochTable::giveUp(OpenOperation* operation, Match match) {
  const auto found = epochs_.find(keyOf(operation->facts));
  if (found == epochs_.end()) {
    events_.resolve(operation, match);
    return;
  }
  Epoch epoch = found->second;
  epochs_.erase(found);
  for (OpenOperation*& open : epoch.open) resolve(open, match);
}

void MpiEpochTable::forgetOldest() {
  std::vector<std::int64_t> starts;
  starts.reserve(epochs_.size());
  for (const auto& [key, epoch] : epochs_) starts.push_back(epoch.start_ns);
  const auto last = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 16);
  std::nth_element(starts.begin(), last, starts.end());
  for (auto it = epochs_.begin(); it != epochs_.end();) {
    if (it->second.start_ns > *last) {
      ++it;
      continue;
    }
    Epoch epoch = it->second;
    it = epochs_.erase(it);
    for (OpenOperation*& open : epoch.open) resolve(open, Match::kGivenUp);
  }
}

void MpiEpochTable::sweep() {
  for (auto it = epochs_.begin(); it != epochs_.end();) {
    Epoch& epoch = it->second;
    bool any = false;
    for (OpenOperation*& open : epoch.open) {
      if (open == nullptr) continue;
      if (ended_[peerOf(open->facts)]) {
        resolve(open, Match::kNeverCame);
      } else {
        any = true;
      }
    }
    const auto has_ended = [&](std::int32_t rank) {
      const mpi::ProcessIndex process = groups_.processOf(it->first.group, 0, rank);
      return process == mpi::kNoProcess || ended_[process];
    };
    const bool both_ended = has_ended(it->first.target) && has_ended(it->first.origin);
    it = !any && both_ended ? epochs_.erase(it) : std::next(it);
  }
}

}  // namespace omnio::order
