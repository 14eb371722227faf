// The text form of matched MPI events, docs/commands/log.md ("--mpi").
#pragma once

#include <string>

#include "cli/log/mpi_listing.hpp"
#include "core/event/event.hpp"
#include "core/order/matched_events.hpp"

namespace omnio::cli {

// The line's first part: whose event it is, and the event as `omnio log` prints it.
void appendMpiTextSeen(std::string& out, const event::Event& event, const order::MpiEventRef& ref,
                       const MpiNames& names);
// The rest of the line.
void appendMpiTextSettled(std::string& out, const order::MatchedEvent& event,
                          const MpiNames& names);

// The comments at the end.
void appendMpiTextSummary(std::string& out, const order::MpiPictureEnd& end, std::uint64_t behind);

}  // namespace omnio::cli
