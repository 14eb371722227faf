// Finds the process of a rank in a group of ranks: a communicator, window or MPI file. Each process
// recorded the groups that it is in (core/wire/info.hpp, "group."), and told of no other process.
// The members of a group have its id in common.
//
// The two sides of an intercommunicator (MPI-3.1, section 6.6) are 0 and 1, and a rank as events
// give it is one of the remote side.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/tracefile/process.hpp"

namespace omnio::mpi {

// A process of a trace, by its place in Trace::processes().
using ProcessIndex = std::uint32_t;
inline constexpr ProcessIndex kNoProcess = 0xFFFFFFFF;

using GroupIndex = std::uint32_t;
inline constexpr GroupIndex kNoGroup = 0xFFFFFFFF;

// A group as one process is in it.
struct OwnGroup {
  GroupIndex group = kNoGroup;
  std::int32_t rank = 0;  // the process's own, in its side
  std::uint8_t side = 0;
  std::vector<std::int32_t> sources;  // ranks it gets data from in neighbourhood collectives
};

// A group as all of its members are in it.
struct RankGroup {
  std::string id;          // hexadecimal, as recorded
  std::string kind;        // comm, inter, window, file
  std::int32_t size[2]{};  // ranks of either side; the second is 0 unless there are two
  std::vector<ProcessIndex> members[2];  // by rank, as far as the trace has them
  std::uint32_t known = 0;               // members that the trace has

  bool hasSides() const { return size[1] > 0; }
  // The number of a rank of that side among all: those of the second follow those of the first.
  std::uint32_t memberOf(unsigned side, std::int32_t rank) const {
    return static_cast<std::uint32_t>(rank + (side == 0 ? 0 : size[0]));
  }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(size[0] + size[1]); }
};

// Takes the next word off a fact, up to a space.
inline std::string_view nextWord(std::string_view& fact) {
  const std::string_view word = fact.substr(0, fact.find(' '));
  fact.remove_prefix(word.size() == fact.size() ? fact.size() : word.size() + 1);
  return word;
}

class MpiGroups {
 public:
  // Once for each process of the trace, in order. A fact that makes no sense is left out: what
  // names the group is then of no known one.
  void add(const tracefile::ProcessInfo& info);

  // nullptr when the process told of no group of that number.
  const OwnGroup* own(ProcessIndex process, std::uint64_t number) const;
  const RankGroup& group(GroupIndex index) const { return groups_[index]; }
  std::size_t size() const { return groups_.size(); }

  // kNoProcess when the trace does not have the rank.
  ProcessIndex processOf(GroupIndex group, unsigned side, std::int64_t rank) const;

  // The side that the ranks in a process's events are of: the other one where there are two.
  unsigned sideOfPeers(const OwnGroup& own) const {
    return groups_[own.group].hasSides() ? 1U - own.side : own.side;
  }

 private:
  void take(std::vector<OwnGroup>& groups, std::uint64_t number, std::string_view fact);

  std::vector<RankGroup> groups_;
  std::unordered_map<std::string, GroupIndex> index_;  // by id
  std::vector<std::vector<OwnGroup>> own_;             // by process, then by number less 1
};

}  // namespace omnio::mpi
