// Puts the two ends of messages together: by communicator, sender, receiver, tag and the message's
// number among those, in post order on both sides (MPI-3.1, section 3.5). Memory is the messages of
// which one end has come.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/order/open_events.hpp"

namespace omnio::order {

class MpiMessageTable {
 public:
  // `ended` by process: no more events are to come of it.
  MpiMessageTable(const mpi::MpiGroups& groups, OpenEvents& events, const std::vector<bool>& ended)
      : groups_(groups), events_(events), ended_(ended) {}

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
  using Messages = std::unordered_map<Key, Message, Hash>;

  Key keyOf(const MpiOperation& operation) const;
  mpi::ProcessIndex peerOf(const MpiOperation& operation) const;
  void resolveProbes(Message& message, Match match);
  void resolve(OpenOperation*& end, Match match);
  void resolveAll(Message& message, Match match);

  const mpi::MpiGroups& groups_;
  OpenEvents& events_;
  const std::vector<bool>& ended_;
  Messages messages_;
};

}  // namespace omnio::order
