// Which counterparts of an MPI event are named on its line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/order/matched_event.hpp"

namespace omnio::cli {

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
