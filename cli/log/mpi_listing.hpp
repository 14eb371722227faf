// Which counterparts of an MPI event are named on its line.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/mpi/groups.hpp"
#include "core/order/matched_event.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::cli {

// What the matched picture is called in text and JSON: ranks of MPI_COMM_WORLD in place of those in
// groups, and words in place of enumerators.
class MpiNames {
 public:
  // Both outlive it.
  MpiNames(const tracefile::Trace& trace, const mpi::MpiGroups& groups);

  const mpi::MpiGroups& groups() const { return groups_; }
  const tracefile::Process& process(mpi::ProcessIndex index) const {
    return *trace_.processes()[index];
  }
  // The rank in MPI_COMM_WORLD; nothing when the process has none.
  std::optional<int> rankOf(mpi::ProcessIndex process) const { return ranks_[process]; }
  // Of the other end of an operation, or of its root; nothing when there is none or the trace does
  // not tell.
  std::optional<int> peerOf(const order::MpiOperation& operation, mpi::ProcessIndex process) const;
  std::optional<int> rootOf(const order::MpiOperation& operation, mpi::ProcessIndex process) const;

 private:
  std::optional<int> worldRank(const order::MpiOperation& operation, mpi::ProcessIndex process,
                               std::int32_t rank) const;

  const tracefile::Trace& trace_;
  const mpi::MpiGroups& groups_;
  std::vector<std::optional<int>> ranks_;
};

std::string_view nameOf(order::OperationKind kind);
// "MPI_Barrier" of PMPI_Barrier as well.
std::string_view plainName(const order::MpiEventRef& event);
bool isReceive(const order::MpiOperation& operation);
bool isMessage(const order::MpiOperation& operation);

// Of calls of more members than this none is named: each line of all of them would name all. Who
// they are shows in the lines with the same call, comm and seq.
inline constexpr std::size_t kMostMembersNamed = 16;

struct Listing {
  std::vector<order::MpiEventRef> events;
  std::uint64_t came = 0;  // members of a collective call, this process among them
};
Listing listingOf(const order::MpiOperation& operation, mpi::ProcessIndex process);

// Whether the event is about a list: requests that it starts or finds complete, a window's members.
bool isList(const order::MatchedEvent& event);
// Whether it has to do with any other rank.
bool ordersRanks(const order::MatchedEvent& event);
// Why the first counterpart that is missing is; empty when none is.
std::string_view reasonOf(const order::MatchedEvent& event);

}  // namespace omnio::cli
