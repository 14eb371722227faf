#include "cli/log/mpi_listing.hpp"

#include <algorithm>

namespace omnio::cli {

Listing listingOf(const order::MpiOperation& operation, mpi::ProcessIndex process) {
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

bool isList(const order::MatchedEvent& event) {
  using calls::Role;
  const calls::Row& row = *event.event.row;
  return calls::has(row, Role::kDone) || calls::has(row, Role::kBegun) ||
         calls::has(row, Role::kMembers) ||
         std::any_of(event.parts.begin(), event.parts.end(), [](const order::EventPart& part) {
           return part.part == order::Part::kEnded || part.part == order::Part::kNamed;
         });
}

bool ordersRanks(const order::MatchedEvent& event) {
  return std::any_of(event.parts.begin(), event.parts.end(), [](const order::EventPart& part) {
    return part.operation->kind != order::OperationKind::kLocal;
  });
}

std::string_view reasonOf(const order::MatchedEvent& event) {
  for (const order::EventPart& part : event.parts) {
    if (order::isUnmatched(part.operation->match)) return order::wordsOf(part.operation->match);
  }
  return "";
}

}  // namespace omnio::cli
