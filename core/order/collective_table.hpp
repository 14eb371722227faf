// Puts calls of all of a group together: by group and number of the call on it. Calls that are made
// by the members of the group that they make (MPI_Comm_create_group, MPI_Intercomm_create) go by
// that. Memory is the calls that not all members have come to.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/base/hash_mix.hpp"
#include "core/order/open_events.hpp"

namespace omnio::order {

class MpiCollectiveTable {
 public:
  MpiCollectiveTable(const mpi::MpiGroups& groups, OpenEvents& events,
                     const std::vector<bool>& ended)
      : groups_(groups), events_(events), ended_(ended) {}

  // A call whose group is known; `seq` 0 stands for the one that made the group. Settles all when
  // it is the last.
  void add(OpenOperation* operation, std::uint64_t seq);
  // Settles an open one that was added, and with it the others of the call.
  void giveUp(OpenOperation* operation, Match match);
  // Settles calls that those who are missing will not come to: their process has ended, or their
  // log is past it.
  void sweep();

 private:
  struct Key {
    mpi::GroupIndex group;
    std::uint64_t seq;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return base::mixed(key.group, key.seq); }
  };
  struct Call {
    std::shared_ptr<MpiCollective> collective;
    std::vector<OpenOperation*> operations;
  };
  using Calls = std::unordered_map<Key, Call, Hash>;

  std::uint32_t memberOfOperation(const MpiOperation& operation) const;
  mpi::ProcessIndex processOf(mpi::GroupIndex group, std::uint32_t member) const;
  std::uint64_t lastOfSlowest(mpi::GroupIndex group) const;
  bool everyoneElseHasEnded(const Key& key, const Call& call) const;
  void settle(const Key& key, Call call, Match match);

  const mpi::MpiGroups& groups_;
  OpenEvents& events_;
  const std::vector<bool>& ended_;
  Calls calls_;
  // By group, then by member: the number of its last call that has been seen.
  std::vector<std::vector<std::uint64_t>> last_;
};

}  // namespace omnio::order
