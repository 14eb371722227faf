// Where operations wait for their counterparts: one table for messages, one for calls of all of a
// group, one for the epochs of windows. Memory is what one side has come to and not the others.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/base/integers.hpp"
#include "core/order/open_events.hpp"

namespace omnio::order {

// The part that the tables share.
class MatchTable {
 public:
  // `ended` by process: no more events are to come of it.
  MatchTable(const mpi::MpiGroups& groups, OpenEvents& events, const std::vector<bool>& ended)
      : groups_(groups), events_(events), ended_(ended) {}

 protected:
  // The process of the other end; kNoProcess when it is not in the trace.
  mpi::ProcessIndex peerOf(const MpiOperation& operation) const;
  bool hasEnded(mpi::ProcessIndex process) const {
    return process == mpi::kNoProcess || ended_[process];
  }
  // Settles one that the table holds, if any, and lets go of it.
  void resolve(OpenOperation*& held, Match match);

  const mpi::MpiGroups& groups_;
  OpenEvents& events_;
  const std::vector<bool>& ended_;
};

// Puts the two ends of messages together: by communicator, sender, receiver, tag and the message's
// number among those, in post order on both sides (MPI-3.1, section 3.5).
class MpiMessageTable : MatchTable {
 public:
  using MatchTable::MatchTable;

  // A send, receive or probe whose group, peer, tag and seq are known. Settles it when the other
  // end is there, or cannot come.
  void add(OpenOperation* operation);
  // Settles an open one that was added.
  void giveUp(OpenOperation* operation, Match match);
  // Settles those whose other end's process has ended.
  void sweep();

 private:
  struct Key {
    mpi::GroupIndex group;
    std::uint32_t sender;  // with the side in the lowest bit
    std::int32_t receiver;
    std::int32_t tag;
    std::uint64_t seq;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Message {
    OpenOperation* send = nullptr;
    OpenOperation* receive = nullptr;
    OpenOperation* probes = nullptr;
  };

  Key keyOf(const MpiOperation& operation) const;
  void resolveProbes(Message& message, Match match);
  void resolveAll(Message message, Match match);

  std::unordered_map<Key, Message, Hash> messages_;
};

// Puts calls of all of a group together: by group and number of the call on it. Calls that are made
// by the members of the group that they make (MPI_Comm_create_group, MPI_Intercomm_create) go by
// that.
class MpiCollectiveTable : MatchTable {
 public:
  using MatchTable::MatchTable;

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

  mpi::ProcessIndex processOf(mpi::GroupIndex group, std::uint32_t member) const;
  std::uint64_t lastOfSlowest(mpi::GroupIndex group) const;
  bool everyoneElseHasEnded(const Key& key, const Call& call) const;
  Calls::iterator settle(Calls::iterator call, Match match);

  Calls calls_;
  // By group, then by member: the number of its last call that has been seen.
  std::vector<std::vector<std::uint64_t>> last_;
};

// Puts the four calls of a window's epoch together (MPI-3.1, section 11.5.2): the k-th MPI_Win_post
// of a target for an origin, that origin's k-th MPI_Win_start for the target, its MPI_Win_complete,
// and the target's MPI_Win_wait.
class MpiEpochTable : MatchTable {
 public:
  using MatchTable::MatchTable;

  // One member of a call whose group, peer and seq are known.
  void add(OpenOperation* operation);
  void giveUp(OpenOperation* operation, Match match);
  // Settles those whose other end's process has ended.
  void sweep();
  std::size_t size() const { return epochs_.size(); }
  // Gives up the sixteenth of the epochs that began first.
  void forgetOldest();

 private:
  struct Key {
    mpi::GroupIndex group;
    std::int32_t target;
    std::int32_t origin;
    std::uint64_t seq;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Epoch {
    std::array<MpiEventRef, 4> events{};
    std::array<OpenOperation*, 4> open{};
    std::int64_t start_ns = 0;  // of the call that came first
  };
  using Epochs = std::unordered_map<Key, Epoch, Hash>;

  static Key keyOf(const MpiOperation& operation);
  void settle(Epoch& epoch);
  Epochs::iterator giveUp(Epochs::iterator epoch, Match match);

  Epochs epochs_;
};

}  // namespace omnio::order
