#include "cli/log/mpi_listing.hpp"

#include <algorithm>

#include "core/calls/mpi_values.hpp"

namespace omnio::cli {

MpiNames::MpiNames(const tracefile::Trace& trace, const mpi::MpiGroups& groups)
    : trace_(trace), groups_(groups) {
  for (const auto& process : trace.processes()) ranks_.push_back(trace.rankOf(*process));
}

std::optional<int> MpiNames::worldRank(const order::MpiOperation& operation,
                                       mpi::ProcessIndex process, std::int32_t rank) const {
  if (operation.own == nullptr || rank < 0) return {};
  const mpi::OwnGroup& own = *operation.own;
  const mpi::ProcessIndex peer = groups_.processOf(own.group, groups_.sideOfPeers(own), rank);
  if (peer != mpi::kNoProcess) return ranks_[peer];
  // MPI_COMM_WORLD's ranks are known without their processes.
  return &own == groups_.own(process, 1) ? std::optional(rank) : std::nullopt;
}

std::optional<int> MpiNames::peerOf(const order::MpiOperation& operation,
                                    mpi::ProcessIndex process) const {
  return worldRank(operation, process, operation.peer);
}

std::optional<int> MpiNames::rootOf(const order::MpiOperation& operation,
                                    mpi::ProcessIndex process) const {
  const bool is_self = operation.own != nullptr && operation.root < 0 &&
                       operation.root != calls::kProcNull &&
                       groups_.group(operation.own->group).hasSides();
  return is_self ? ranks_[process] : worldRank(operation, process, operation.root);
}

std::string_view nameOf(order::OperationKind kind) {
  switch (kind) {
    case order::OperationKind::kSend:
    case order::OperationKind::kSyncSend:
      return "send";
    case order::OperationKind::kReceive:
      return "receive";
    case order::OperationKind::kProbe:
      return "probe";
    case order::OperationKind::kCollective:
      return "collective";
    case order::OperationKind::kPost:
      return "post";
    case order::OperationKind::kStart:
      return "start";
    case order::OperationKind::kComplete:
      return "complete";
    case order::OperationKind::kWait:
      return "wait";
    case order::OperationKind::kLocal:
      return "local";
  }
  return "";
}

std::string_view plainName(const order::MpiEventRef& event) {
  return event.row == nullptr ? std::string_view("") : calls::plainName(*event.row);
}

bool isReceive(const order::MpiOperation& operation) {
  return operation.kind == order::OperationKind::kReceive ||
         operation.kind == order::OperationKind::kProbe;
}

bool isMessage(const order::MpiOperation& operation) {
  return isReceive(operation) || operation.kind == order::OperationKind::kSend ||
         operation.kind == order::OperationKind::kSyncSend;
}

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
