// Persistent requests of messages: made once, and begun as often as they are started.
#include "trace/runtime/mpi/message_streams.hpp"
#include "trace/wrap/mpi/communicators.hpp"
#include "trace/wrap/mpi/completion.hpp"

namespace omnio::trace {
namespace {

constexpr std::uint16_t kStart = mpiRow("MPI_Start");
using BegunList = RequestList<kStart, mpiRow("(begun)")>;

// Making a persistent request is no event: it is remembered for its starts.
template <Request::Kind kKind, typename Real, typename Buffer>
int makePersistent(Real* real, Buffer data, int count, MPI_Datatype type, int peer, int tag,
                   MPI_Comm communicator, MPI_Request* request) {
  const int result = real(data, count, type, peer, tag, communicator, request);
  if (result != MPI_SUCCESS || !isActive() || mpiLibrary().world == nullptr ||
      isCompleteAlready(*request)) {
    return result;
  }
  const int errno_after = errno;
  const Group* group = groupOf(communicator);
  addRequest(*request, {.kind = kKind,
                        .persistent = true,
                        .comm = static_cast<std::uint32_t>(numberOf(group)),
                        .peer = peer,
                        .tag = tag,
                        .bytes = bytesOf(count, type),
                        .id = idOf(group)});
  errno = errno_after;
  return result;
}

wire::BegunRequest begin(MPI_Request object) {
  wire::BegunRequest begun{.request = newRequestNumber()};
  Request* request = findRequest(object);
  if (request == nullptr) return begun;
  request->number = begun.request;
  begun.comm = request->comm;
  begun.peer = request->peer;
  begun.tag = request->tag;
  begun.bytes = request->bytes;
  if (request->kind == Request::kReceive) {
    begun.kind = wire::BegunRequest::kReceive;
  } else if (request->kind == Request::kSend || request->kind == Request::kSyncSend) {
    begun.kind =
        request->kind == Request::kSend ? wire::BegunRequest::kSend : wire::BegunRequest::kSyncSend;
    if (request->id != 0 && request->peer >= 0) {
      begun.seq = countIn(
          {.group = request->id, .peer = request->peer, .tag = request->tag, .way = Way::kOut});
    }
  }
  return begun;
}

template <typename Make>
int start(std::uint16_t number, int count, const MPI_Request* requests, Make make) {
  SyncCall call(number);
  call.make(make);
  if (!call.knowsObjects()) return call.result();
  BegunList list(call);
  for (int i = 0; !call.failed() && i < count; ++i) list.add(begin(requests[i]));
  list.finish();
  return call.result();
}

template <typename Real>
int startOne(std::uint16_t number, Real* real, MPI_Request* request) {
  return start(number, 1, request, [&] { return real(request); });
}

template <typename Real>
int startAll(std::uint16_t number, Real* real, int count, MPI_Request* requests) {
  return start(number, count, requests, [&] { return real(count, requests); });
}

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_MPI_BOTH(Start, 1, startOne)
OMNIO_MPI_BOTH(Startall, 2, startAll)

#define OMNIO_MPI_PERSISTENT(NAME, KIND)                                                           \
  static constinit std::atomic<void*> real_##NAME{nullptr};                                        \
  OMNIO_EXPORT int MPI_##NAME(OMNIO_PARAMETERS_7(MPI_##NAME)) {                                    \
    return makePersistent<KIND>(                                                                   \
        omnio::trace::realMpi<decltype(::MPI_##NAME)>(real_##NAME, "PMPI_" #NAME), OMNIO_NAMES_7); \
  }                                                                                                \
  OMNIO_EXPORT int PMPI_##NAME(OMNIO_PARAMETERS_7(PMPI_##NAME)) {                                  \
    return makePersistent<KIND>(                                                                   \
        omnio::trace::realMpi<decltype(::MPI_##NAME)>(real_##NAME, "PMPI_" #NAME), OMNIO_NAMES_7); \
  }

OMNIO_MPI_PERSISTENT(Send_init, Request::kSend)
OMNIO_MPI_PERSISTENT(Bsend_init, Request::kSend)
OMNIO_MPI_PERSISTENT(Rsend_init, Request::kSend)
OMNIO_MPI_PERSISTENT(Ssend_init, Request::kSyncSend)
OMNIO_MPI_PERSISTENT(Recv_init, Request::kReceive)
