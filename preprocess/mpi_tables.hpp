// The lists that calls of MPI-IO in a schedule refer to by number: groups of ranks, and datatypes.
// Each item is in the schedule once, whichever ranks use it. Where several threads of a rank open
// files, the same ranks are a group for each of the threads: in one communicator, their collective
// calls would meet each other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/model/schedule.hpp"
#include "core/mpi/groups.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::preprocess {

class MpiTables {
 public:
  // `trace` outlives it.
  explicit MpiTables(const tracefile::Trace& trace);

  // While the trace is read: a thread of a process, by index in the trace, opened a file of this
  // handle that the group of this number has in common; it made a view of a type. Numbers are the
  // process's own. Thread 0 is the one that the process began with.
  void opened(std::size_t process, int thread, std::uint64_t group, std::uint32_t handle);
  // An open failed, so that no group shares a file: the members of this communicator made it
  // together. False where it is not known who they are.
  bool openFailed(std::size_t process, std::uint64_t communicator);
  void viewed(std::size_t process, std::uint64_t type) {
    type_of_.try_emplace({process, type}, -1);
  }
  // The whole trace was read: numbers them, by the ranks that use them first.
  void settle();

  // After settle(), by place in tables(); -1: not known.
  std::int64_t groupOf(std::size_t process, std::uint64_t number) const {
    return find(group_of_, process, number);
  }
  std::int64_t typeOf(std::size_t process, std::uint64_t number) const {
    return find(type_of_, process, number);
  }
  // The hints that the first rank of a file's group opened it with, as "key=value;key=value".
  std::string hintsOf(std::size_t process, std::uint64_t group) const;
  // Those that the file of this handle was given last with MPI_File_set_info.
  std::string laterHintsOf(std::size_t process, std::uint32_t handle) const;
  // The group that shares the file of this handle, and no other open of the process; nothing where
  // it is not known.
  std::optional<mpi::GroupIndex> sharersOf(std::size_t process, std::uint32_t handle) const {
    const auto found = group_at_.find({process, handle});
    return found == group_at_.end() ? std::nullopt : std::optional(found->second);
  }
  // Whether all groups and views are known: those of a damaged trace, of data in another
  // representation than in memory, and of sequential files may not be.
  bool isWhole() const;
  const model::MpiTables& tables() const { return tables_; }

 private:
  using Numbers = std::map<std::pair<std::size_t, std::uint64_t>, std::int64_t>;

  static std::int64_t find(const Numbers& numbers, std::size_t process, std::uint64_t number) {
    const auto found = numbers.find({process, number});
    return found == numbers.end() ? -1 : found->second;
  }
  std::vector<int> ranksOf(std::size_t process, std::uint64_t number) const;

  const tracefile::Trace& trace_;
  const mpi::MpiGroups groups_;
  Numbers group_of_;
  Numbers type_of_;
  // The threads that opened the file of a group, by member; only others than thread 0.
  using Threads = std::map<int, int>;
  std::unordered_map<mpi::GroupIndex, Threads> threads_;
  std::unordered_map<mpi::GroupIndex, std::string> hints_;
  std::unordered_map<mpi::GroupIndex, std::string> later_hints_;
  std::map<std::pair<std::size_t, std::uint32_t>, mpi::GroupIndex> group_at_;  // by handle
  model::MpiTables tables_;
};

}  // namespace omnio::preprocess
