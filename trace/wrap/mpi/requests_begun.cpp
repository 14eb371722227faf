// What a call begins is remembered until another finds it complete; what a message counts as.
#include "trace/runtime/mpi/message_streams.hpp"
#include "trace/wrap/mpi/completion.hpp"

namespace omnio::trace {
namespace {

bool isComplete(MPI_Request object) {
  auto* const function = mpiFunction<decltype(MPI_Request_get_status)>("PMPI_Request_get_status");
  int flag = 0;
  return function != nullptr && function(object, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
         flag != 0;
}

// A library may have one object for all sends that were complete when they were made, as Open MPI's
// pml/ucx has. The first of them is remembered as any other; an address that is given again while
// it is known, of a request that is complete, is such an object.
bool isShared(MPI_Request object) {
  const Request* const there = findRequest(object);
  if (there == nullptr || there->kind != Request::kSend || there->persistent) return false;
  const std::uint64_t number = there->number;
  if (!there->shared && !isComplete(object)) return false;
  // Asking may take long enough for another thread to take it out.
  Request* const still = findRequest(object);
  if (still != nullptr && still->number == number) still->shared = true;
  return true;
}

}  // namespace

std::uint64_t beginRequest(MPI_Request object, Request facts) {
  if (isCompleteAlready(object)) return 0;
  if (facts.kind == Request::kSend && isShared(object)) return 0;
  facts.number = newRequestNumber();
  return addRequest(object, facts) ? facts.number : 0;
}

Received receive(std::uint64_t group_id, const MPI_Status& status) {
  Received received{.source = status.MPI_SOURCE, .tag = status.MPI_TAG, .bytes = bytesIn(status)};
  if (group_id != 0 && status.MPI_SOURCE >= 0) {
    received.seq = countIn(
        {.group = group_id, .peer = status.MPI_SOURCE, .tag = status.MPI_TAG, .way = Way::kIn});
  }
  return received;
}

}  // namespace omnio::trace
