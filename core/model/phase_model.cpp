#include "core/model/phase_model.hpp"

#include <algorithm>

namespace omnio::model {

std::int64_t OffsetFunction::at(int rank) const {
  if (affine) return base + per_rank * rank;
  const auto place =
      std::lower_bound(table.begin(), table.end(), rank,
                       [](const auto& entry, int wanted) { return entry.first < wanted; });
  return place != table.end() && place->first == rank ? place->second : 0;
}

std::uint64_t weightOf(const Phase& phase, const PhaseOperation& operation) {
  if (operation.varying) return operation.weight_bytes;
  return operation.request_bytes * operation.repetitions * phase.ranks.size();
}

std::uint64_t requestsOf(const Phase& phase, const PhaseOperation& operation) {
  if (operation.varying) return operation.requests;
  return operation.repetitions * phase.ranks.size();
}

std::string_view nameOf(Operation operation) {
  return operation == Operation::kWrite ? "write" : "read";
}

std::string_view nameOf(AccessMode mode) {
  switch (mode) {
    case AccessMode::kSequential:
      return "sequential";
    case AccessMode::kStrided:
      return "strided";
    case AccessMode::kRandom:
      break;
  }
  return "random";
}

std::string_view nameOf(PointerKind pointer) {
  switch (pointer) {
    case PointerKind::kExplicit:
      return "explicit";
    case PointerKind::kIndividual:
      return "individual";
    case PointerKind::kShared:
      break;
  }
  return "shared";
}

std::string_view nameOf(Interface interface) {
  switch (interface) {
    case Interface::kMpiIo:
      return "mpi-io";
    case Interface::kPosix:
      return "posix";
    case Interface::kStdio:
      break;
  }
  return "stdio";
}

}  // namespace omnio::model
