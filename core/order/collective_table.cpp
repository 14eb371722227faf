#include "core/order/collective_table.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace omnio::order {
namespace {

// Of arrivals in order. false: one came twice, or to another call (the numbers of a damaged trace).
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

std::uint32_t MpiCollectiveTable::memberOfOperation(const MpiOperation& operation) const {
  const mpi::OwnGroup& own = *operation.own;
  return memberOf(groups_.group(own.group), own.side, own.rank);
}

mpi::ProcessIndex MpiCollectiveTable::processOf(mpi::GroupIndex group, std::uint32_t member) const {
  const auto first = static_cast<std::uint32_t>(groups_.group(group).size[0]);
  return member < first ? groups_.processOf(group, 0, member)
                        : groups_.processOf(group, 1, member - first);
}

void MpiCollectiveTable::add(OpenOperation* operation, std::uint64_t seq) {
  const mpi::GroupIndex group = operation->facts.own->group;
  const std::uint32_t member = memberOfOperation(operation->facts);
  if (last_.size() <= group) last_.resize(groups_.size());
  if (last_[group].size() <= member) last_[group].resize(groups_.group(group).ranks());
  last_[group][member] = std::max(last_[group][member], seq);

  const Key key{group, seq};
  const auto found = calls_.try_emplace(key).first;
  Call& call = found->second;
  if (call.collective == nullptr) call.collective = std::make_shared<MpiCollective>();
  call.collective->arrivals.push_back({member, operation->facts.started});
  call.operations.push_back(operation);
  operation->collective = call.collective;
  OpenEvents::keep(operation);
  const mpi::RankGroup& ranks = groups_.group(group);
  if (call.operations.size() < ranks.known) return;
  Call all = std::move(call);
  calls_.erase(found);
  settle(key, std::move(all), ranks.known < ranks.ranks() ? Match::kNotInTrace : Match::kMatched);
}

void MpiCollectiveTable::settle(const Key& key, Call call, Match match) {
  MpiCollective& collective = *call.collective;
  auto& arrivals = collective.arrivals;
  std::sort(arrivals.begin(), arrivals.end(), [](const auto& a, const auto& b) {
    return std::tie(a.event.start_ns, a.member) < std::tie(b.event.start_ns, b.member);
  });
  // Not of others: of those the group may be huge in a damaged trace, whoever came.
  if (match == Match::kMatched && !fillByMember(collective, groups_.group(key.group).ranks())) {
    match = Match::kNeverCame;
  }
  for (OpenOperation* operation : call.operations) {
    events_.resolve(operation, match);
    events_.release(operation);
  }
}

void MpiCollectiveTable::giveUp(OpenOperation* operation, Match match) {
  for (const std::uint64_t seq : {operation->facts.seq, std::uint64_t{0}}) {
    const Key key{operation->facts.own->group, seq};
    const auto found = calls_.find(key);
    if (found == calls_.end() || found->second.collective != operation->collective) continue;
    Call call = std::move(found->second);
    calls_.erase(found);
    settle(key, std::move(call), match);
    return;
  }
  events_.resolve(operation, match);
}

// The number of the last call that has been seen of all members of whom more may come.
std::uint64_t MpiCollectiveTable::lastOfSlowest(mpi::GroupIndex group) const {
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  for (std::uint32_t member = 0; member < last_[group].size(); ++member) {
    const mpi::ProcessIndex process = processOf(group, member);
    if (process != mpi::kNoProcess && !ended_[process]) last = std::min(last, last_[group][member]);
  }
  return last;
}

bool MpiCollectiveTable::everyoneElseHasEnded(const Key& key, const Call& call) const {
  std::vector<bool> came(groups_.group(key.group).ranks());
  for (const auto& arrival : call.collective->arrivals) came[arrival.member] = true;
  for (std::uint32_t member = 0; member < came.size(); ++member) {
    const mpi::ProcessIndex process = processOf(key.group, member);
    if (!came[member] && process != mpi::kNoProcess && !ended_[process]) return false;
  }
  return true;
}

void MpiCollectiveTable::sweep() {
  std::unordered_map<mpi::GroupIndex, std::uint64_t> slowest;
  for (auto it = calls_.begin(); it != calls_.end();) {
    const Key& call_key = it->first;
    bool in_vain = false;
    if (call_key.seq == 0) {
      in_vain = everyoneElseHasEnded(call_key, it->second);
    } else {
      const auto [last, is_new] = slowest.try_emplace(call_key.group);
      if (is_new) last->second = lastOfSlowest(call_key.group);
      in_vain = last->second >= call_key.seq;
    }
    if (!in_vain) {
      ++it;
      continue;
    }
    const Key key = it->first;
    Call call = std::move(it->second);
    it = calls_.erase(it);
    settle(key, std::move(call), Match::kNeverCame);
  }
}

}  // namespace omnio::order
