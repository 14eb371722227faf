// The JSON form of matched MPI events, docs/commands/log.md ("--mpi").
#pragma once

#include <string>

#include "cli/log/mpi_names.hpp"
#include "core/event/event.hpp"
#include "core/order/matched_events.hpp"

namespace omnio::cli {

// Adds to an object that is open what is known of an event when it is seen.
void appendMpiJsonSeen(std::string& out, const event::Event& event, const order::MpiEventRef& ref,
                       const MpiNames& names);
// Adds what is known when it is settled, and ends the object and the line.
void appendMpiJsonSettled(std::string& out, const order::MatchedEvent& event,
                          const MpiNames& names);

// The line at the end. `behind` is how many events stand behind such as began later.
void appendMpiJsonSummary(std::string& out, const order::MpiPictureEnd& end, std::uint64_t behind);

}  // namespace omnio::cli
