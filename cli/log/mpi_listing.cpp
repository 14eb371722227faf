#include "cli/log/mpi_listing.hpp"

#include <algorithm>

namespace omnio::cli {

Listing listingOf(const MpiOperation& operation, ProcessIndex process) {
  Listing listing;
  if (operation.collective == nullptr) {
    if (operation.counterpart.row != nullptr) listing.events.push_back(operation.counterpart);
    return listing;
  }
  const auto& arrivals = operation.collective->arrivals;
  listing.came = arrivals.size();
  if (arrivals.size() > kMostMembersNamed) return listing;
  for (const auto& arrival : arrivals) {
    const bool self = arrival.event.process == process &&
                      arrival.event.thread == operation.started.thread &&
                      arrival.event.number == operation.started.number;
    if (!self) listing.events.push_back(arrival.event);
  }
  return listing;
}

bool isList(const MatchedEvent& event) {
  using calls::Role;
  const calls::Row& row = *event.event.row;
  return calls::has(row, Role::kDone) || calls::has(row, Role::kBegun) ||
         calls::has(row, Role::kMembers) ||
         std::any_of(event.parts.begin(), event.parts.end(), [](const EventPart& part) {
           return part.part == Part::kEnded || part.part == Part::kNamed;
         });
}

bool ordersRanks(const MatchedEvent& event) {
  return std::any_of(event.parts.begin(), event.parts.end(), [](const EventPart& part) {
    return part.operation->kind != OperationKind::kLocal;
  });
}

std::string_view reasonOf(const MatchedEvent& event) {
  for (const EventPart& part : event.parts) {
    if (isUnmatched(part.operation->match)) return wordsOf(part.operation->match);
  }
  return "";
}

}  // namespace omnio::cli
