#include "cli/log/mpi_names.hpp"

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
  return event.row == nullptr ? std::string_view("") : event.row->variant_of;
}

bool isReceive(const order::MpiOperation& operation) {
  return operation.kind == order::OperationKind::kReceive ||
         operation.kind == order::OperationKind::kProbe;
}

bool isMessage(const order::MpiOperation& operation) {
  return isReceive(operation) || operation.kind == order::OperationKind::kSend ||
         operation.kind == order::OperationKind::kSyncSend;
}

}  // namespace omnio::cli
