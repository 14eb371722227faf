#include "cli/log/mpi_names.hpp"

#include "core/calls/mpi_values.hpp"

namespace omnio::cli {

MpiNames::MpiNames(const Trace& trace, const MpiGroups& groups) : trace_(trace), groups_(groups) {
  for (const auto& process : trace.processes()) ranks_.push_back(trace.rankOf(*process));
}

std::optional<int> MpiNames::worldRank(const MpiOperation& operation, ProcessIndex process,
                                       std::int32_t rank) const {
  if (operation.own == nullptr || rank < 0) return {};
  const OwnGroup& own = *operation.own;
  const ProcessIndex peer = groups_.processOf(own.group, groups_.sideOfPeers(own), rank);
  if (peer != kNoProcess) return ranks_[peer];
  // MPI_COMM_WORLD's ranks are known without their processes.
  return &own == groups_.own(process, 1) ? std::optional(rank) : std::nullopt;
}

std::optional<int> MpiNames::peerOf(const MpiOperation& operation, ProcessIndex process) const {
  return worldRank(operation, process, operation.peer);
}

std::optional<int> MpiNames::rootOf(const MpiOperation& operation, ProcessIndex process) const {
  const bool is_self = operation.own != nullptr && operation.root < 0 &&
                       operation.root != calls::kProcNull &&
                       groups_.group(operation.own->group).hasSides();
  return is_self ? ranks_[process] : worldRank(operation, process, operation.root);
}

std::string_view nameOf(OperationKind kind) {
  switch (kind) {
    case OperationKind::kSend:
    case OperationKind::kSyncSend:
      return "send";
    case OperationKind::kReceive:
      return "receive";
    case OperationKind::kProbe:
      return "probe";
    case OperationKind::kCollective:
      return "collective";
    case OperationKind::kPost:
      return "post";
    case OperationKind::kStart:
      return "start";
    case OperationKind::kComplete:
      return "complete";
    case OperationKind::kWait:
      return "wait";
    case OperationKind::kLocal:
      return "local";
  }
  return "";
}

std::string_view plainName(const MpiEventRef& event) {
  return event.row == nullptr ? std::string_view("") : event.row->variant_of;
}

bool isReceive(const MpiOperation& operation) {
  return operation.kind == OperationKind::kReceive || operation.kind == OperationKind::kProbe;
}

bool isMessage(const MpiOperation& operation) {
  return isReceive(operation) || operation.kind == OperationKind::kSend ||
         operation.kind == OperationKind::kSyncSend;
}

}  // namespace omnio::cli
