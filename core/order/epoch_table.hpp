// Puts the four calls of a window's epoch together (MPI-3.1, section 11.5.2): the k-th MPI_Win_post
// of a target for an origin, that origin's k-th MPI_Win_start for the target, its MPI_Win_complete,
// and the target's MPI_Win_wait. Memory is the epochs of which not all has come.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/order/open_events.hpp"

namespace omnio::order {

class MpiEpochTable {
 public:
  MpiEpochTable(const mpi::MpiGroups& groups, OpenEvents& events, const std::vector<bool>& ended)
      : groups_(groups), events_(events), ended_(ended) {}

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
  enum EpochCall : std::uint8_t { kPosted, kStarted, kCompleted, kWaited };
  struct Epoch {
    std::array<MpiEventRef, 4> events{};
    std::array<OpenOperation*, 4> open{};
    std::int64_t start_ns = 0;  // of the call that came first
  };

  static Key keyOf(const MpiOperation& operation);
  static EpochCall callOf(const MpiOperation& operation);
  mpi::ProcessIndex peerOf(const MpiOperation& operation) const;
  void resolve(OpenOperation*& operation, Match match);
  void settle(Epoch& epoch);

  const mpi::MpiGroups& groups_;
  OpenEvents& events_;
  const std::vector<bool>& ended_;
  std::unordered_map<Key, Epoch, Hash> epochs_;
};

}  // namespace omnio::order
