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

// Names in the text and JSON forms of matched events: ranks of MPI_COMM_WORLD in place of ranks in
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
  // The rank of an operation's other end, or of its root. Nothing when it has none, or when the
  // trace does not say.
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

// A call of more members than this names none of them: each of its lines would name all. The lines
// with the same call, comm and seq show the members.
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
