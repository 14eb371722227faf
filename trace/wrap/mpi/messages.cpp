// Messages between two: sends, receives, probes. Both ends count the messages of a communicator, a
// pair of ranks and a tag, so that each send and its receive have the same number. Also those of a
// callback, inside another MPI call, count: the other end may be elsewhere.
#include "trace/runtime/mpi/objects.hpp"
#include "trace/wrap/mpi/communicators.hpp"
#include "trace/wrap/mpi/sync_call.hpp"

namespace omnio::trace::OMNIO_MPI_ABI {
namespace {

std::uint64_t countSent(std::uint64_t group, int peer, int tag) {
  if (group == 0 || peer < 0) return 0;
  return countIn({.group = group, .peer = peer, .tag = tag, .way = Way::kOut});
}

constexpr bool isSynchronous(CallId id) { return calls::rowOf(id).sync == calls::Sync::kSyncSend; }

// The nonblocking form has the request behind the communicator.
template <typename Real, typename... Later>
int send(CallId id, Real* real, const void* data, int count, MPI_Datatype type, int peer, int tag,
         MPI_Comm communicator, Later... later) {
  SyncCall call(id, [&] { return real(data, count, type, peer, tag, communicator, later...); });
  if (!call.knowsObjects()) return call.result();
  const Group* group = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t began = 0;
  if (!call.failed()) {
    group = groupOf(communicator);
    bytes = bytesOf(count, type);
    [[maybe_unused]] const auto kind = isSynchronous(id) ? Request::kSyncSend : Request::kSend;
    ((began = beginRequest(*later, {.kind = kind})), ...);
  }
  return call.recordEither<CallId::MPI_Send, CallId::MPI_Isend>(sizeof...(Later) == 0, began, group,
                                                                peerOf(peer), tag, bytes,
                                                                countSent(idOf(group), peer, tag));
}

template <typename Real>
int receiveNow(CallId id, Real* real, void* data, int count, MPI_Datatype type, int source, int tag,
               MPI_Comm communicator, MPI_Status* given) {
  SyncCall call(id);
  const Statuses status(given, call.knowsObjects());
  call.make([&] { return real(data, count, type, source, tag, communicator, status.used()); });
  if (!call.knowsObjects()) return call.result();
  if (!call.hasReceived()) {
    return call.record<CallId::MPI_Recv>(0, peerOf(source), tag, 0, 0);
  }
  const Group* group = groupOf(communicator);
  const Received got = receive(idOf(group), *status.used(), call.failed());
  return call.record<CallId::MPI_Recv>(group, got.source, got.tag, got.bytes, got.seq);
}

template <typename Real>
int receiveLater(CallId id, Real* real, void* data, int count, MPI_Datatype type, int source,
                 int tag, MPI_Comm communicator, MPI_Request* request) {
  SyncCall call(id, [&] { return real(data, count, type, source, tag, communicator, request); });
  if (!call.knowsObjects()) return call.result();
  if (call.failed()) return call.record<CallId::MPI_Irecv>(0, peerOf(source), tag, 0, 0);
  const Group* group = groupOf(communicator);
  const Request facts{.kind = Request::kReceive,
                      .comm = static_cast<std::uint32_t>(numberOf(group)),
                      .id = idOf(group)};
  return call.record<CallId::MPI_Irecv>(group, peerOf(source), tag, bytesOf(count, type),
                                        beginRequest(*request, facts));
}

// Sends and receives. Behind what is sent: what is received, the communicator, the status.
template <typename Real, typename Data, typename... A>
int exchange(CallId id, Real* real, Data* data, int count, MPI_Datatype type, int peer, int tag,
             A... a) {
  SyncCall call(id);
  const Statuses status(argumentOf<MPI_Status*>(a...), call.knowsObjects());
  call.make([&] { return real(data, count, type, peer, tag, status.in(a)...); });
  if (!call.knowsObjects()) return call.result();
  if (!call.hasReceived()) {
    return call.record<CallId::MPI_Sendrecv>(0, peerOf(peer), tag, 0, 0, 0, 0, 0, 0);
  }
  const Group* group = groupOf(argumentAt<sizeof...(A) - 2>(a...));
  const Received got = receive(idOf(group), *status.used(), call.failed());
  return call.record<CallId::MPI_Sendrecv>(group, peerOf(peer), tag, bytesOf(count, type),
                                           countSent(idOf(group), peer, tag), got.source, got.tag,
                                           got.bytes, got.seq);
}

// Behind the communicator: a flag where it returns at once, the status. With a flag that is 0 after
// the call there is nothing to tell.
template <typename Real, typename... A>
int probe(CallId id, Real* real, int source, int tag, MPI_Comm communicator, A... a) {
  const int* const flag = argumentOf<int*>(a...);
  SyncCall call(id, flag != nullptr);
  const Statuses status(argumentOf<MPI_Status*>(a...), call.isOurs());
  call.make([&] { return real(source, tag, communicator, status.in(a)...); });
  if (!call.isOurs() || (flag != nullptr && call.failed())) return call.result();
  if (flag != nullptr && *flag == 0) return call.foundNothing();
  call.countWhenFound();
  if (call.failed()) {
    return call.record<CallId::MPI_Probe>(0, peerOf(source), tag, 0, 0);
  }
  const Group* group = groupOf(communicator);
  const MPI_Status& found = *status.used();
  std::uint64_t next = 0;
  if (group != nullptr && found.MPI_SOURCE >= 0) {
    next =
        countOf(
            {.group = group->id, .peer = found.MPI_SOURCE, .tag = found.MPI_TAG, .way = Way::kIn}) +
        1;
  }
  return call.record<CallId::MPI_Probe>(group, peerOf(found.MPI_SOURCE), found.MPI_TAG,
                                        bytesIn(found), next);
}

// The same with the message in front of the status, which is taken now, and received later by its
// own handle.
template <typename Real, typename... A>
int matchedProbe(CallId id, Real* real, int source, int tag, MPI_Comm communicator, A... a) {
  const int* flag = nullptr;
  if constexpr (sizeof...(A) == 3) flag = argumentAt<0>(a...);
  SyncCall call(id, flag != nullptr);
  const Statuses status(argumentOf<MPI_Status*>(a...), call.knowsObjects());
  call.make([&] { return real(source, tag, communicator, status.in(a)...); });
  if (!call.knowsObjects() || (flag != nullptr && call.failed())) return call.result();
  if (flag != nullptr && *flag == 0) return call.foundNothing();
  call.countWhenFound();
  if (call.failed()) {
    return call.record<CallId::MPI_Mprobe>(0, peerOf(source), tag, 0, 0, 0);
  }
  const Group* group = groupOf(communicator);
  const Received got = receive(idOf(group), *status.used(), call.failed());
  std::uint64_t began = 0;
  if (got.source >= 0) {  // one from MPI_PROC_NULL has an object that all share
    began = newRequestNumber();
    addRequest(keyOf(*argumentAt<sizeof...(A) - 2>(a...)),
               {.number = began, .kind = Request::kMatched});
  }
  return call.record<CallId::MPI_Mprobe>(group, got.source, got.tag, got.bytes, got.seq, began);
}

// The matched probe that took the message; number 0 when it is not known.
Request takeMessage(const SyncCall& call, const MPI_Message* message) {
  if (!call.knowsObjects() || message == nullptr || *message == MPI_Message{}) {
    return {};
  }
  return takeRequest(keyOf(*message)).value_or(Request{});
}

template <typename Real>
int receiveMatched(CallId id, Real* real, void* data, int count, MPI_Datatype type,
                   MPI_Message* message, MPI_Status* given) {
  SyncCall call(id);
  const Request taken = takeMessage(call, message);
  const Statuses status(given, call.knowsObjects());
  call.make([&] { return real(data, count, type, message, status.used()); });
  if (call.knowsObjects()) {
    call.record<CallId::MPI_Mrecv>(call.failed() ? 0 : bytesIn(*status.used()), taken.number);
  }
  return call.result();
}

template <typename Real>
int receiveMatchedLater(CallId id, Real* real, void* data, int count, MPI_Datatype type,
                        MPI_Message* message, MPI_Request* request) {
  SyncCall call(id);
  const Request taken = takeMessage(call, message);
  call.make([&] { return real(data, count, type, message, request); });
  if (!call.knowsObjects()) return call.result();
  std::uint64_t bytes = 0;
  if (!call.failed()) {
    bytes = bytesOf(count, type);
    // It is found complete under the number of the probe.
    if (taken.number != 0 && !isCompleteAlready(*request)) addRequest(keyOf(*request), taken);
  }
  return call.record<CallId::MPI_Imrecv>(bytes, taken.number);
}

// Persistent requests of messages: made once, and begun as often as they are started.

using BegunList = RequestList<CallId::MPI_Start, CallId::begun>;

// Making a persistent request is not an event: it is remembered for its starts.
template <Request::Kind kKind, typename Real, typename Buffer>
int makePersistent(Real* real, Buffer data, int count, MPI_Datatype type, int peer, int tag,
                   MPI_Comm communicator, MPI_Request* request) {
  const int result = real(data, count, type, peer, tag, communicator, request);
  if (result != MPI_SUCCESS || !isActive() || isCompleteAlready(*request)) {
    return result;
  }
  const int errno_after = errno;
  const Group* group = groupOf(communicator);
  addRequest(keyOf(*request), {.kind = kKind,
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
  Request* request = findRequest(keyOf(object));
  if (request == nullptr) return begun;
  request->number = begun.request;
  begun.comm = request->comm;
  begun.peer = peerOf(request->peer);
  begun.tag = request->tag;
  begun.bytes = request->bytes;
  if (request->kind == Request::kReceive) {
    begun.kind = wire::BegunRequest::kReceive;
  } else if (request->kind == Request::kSend || request->kind == Request::kSyncSend) {
    begun.kind =
        request->kind == Request::kSend ? wire::BegunRequest::kSend : wire::BegunRequest::kSyncSend;
    begun.seq = countSent(request->id, request->peer, request->tag);
  }
  return begun;
}

// One request, or how many and which.
template <typename Real, typename... A>
int start(CallId id, Real* real, A... a) {
  SyncCall call(id, [&] { return real(a...); });
  if (!call.knowsObjects()) return call.result();
  const int count = sizeof...(A) == 1 ? 1 : argumentOf<int>(a...);
  const MPI_Request* const requests = lastArgument(a...);
  BegunList list(call);
  for (int i = 0; !call.failed() && i < count; ++i) list.add(begin(requests[i]));
  return list.finish();
}

}  // namespace

OMNIO_MPI_BOTH(Send, 6, send)
OMNIO_MPI_BOTH(Bsend, 6, send)
OMNIO_MPI_BOTH(Rsend, 6, send)
OMNIO_MPI_BOTH(Ssend, 6, send)
OMNIO_MPI_BOTH(Isend, 7, send)
OMNIO_MPI_BOTH(Ibsend, 7, send)
OMNIO_MPI_BOTH(Irsend, 7, send)
OMNIO_MPI_BOTH(Issend, 7, send)
OMNIO_MPI_BOTH(Recv, 7, receiveNow)
OMNIO_MPI_BOTH(Irecv, 7, receiveLater)
OMNIO_MPI_BOTH(Sendrecv, 12, exchange)
OMNIO_MPI_BOTH(Sendrecv_replace, 9, exchange)
OMNIO_MPI_BOTH(Probe, 4, probe)
OMNIO_MPI_BOTH(Iprobe, 5, probe)
OMNIO_MPI_BOTH(Mprobe, 5, matchedProbe)
OMNIO_MPI_BOTH(Improbe, 6, matchedProbe)
OMNIO_MPI_BOTH(Mrecv, 5, receiveMatched)
OMNIO_MPI_BOTH(Imrecv, 5, receiveMatchedLater)
OMNIO_MPI_BOTH(Start, 1, start)
OMNIO_MPI_BOTH(Startall, 2, start)

#define OMNIO_MPI_PERSISTENT_NAME(NAME, PMPI_NAME, KIND) \
  OMNIO_MPI_EXPORT(NAME, 7, makePersistent<KIND>(OMNIO_LAZY_MPI(PMPI_NAME), OMNIO_NAMES_7))
#define OMNIO_MPI_PERSISTENT(NAME, KIND)                   \
  OMNIO_MPI_PERSISTENT_NAME(MPI_##NAME, PMPI_##NAME, KIND) \
  OMNIO_MPI_PERSISTENT_NAME(PMPI_##NAME, PMPI_##NAME, KIND)

OMNIO_MPI_PERSISTENT(Send_init, Request::kSend)
OMNIO_MPI_PERSISTENT(Bsend_init, Request::kSend)
OMNIO_MPI_PERSISTENT(Rsend_init, Request::kSend)
OMNIO_MPI_PERSISTENT(Ssend_init, Request::kSyncSend)
OMNIO_MPI_PERSISTENT(Recv_init, Request::kReceive)

}  // namespace omnio::trace::OMNIO_MPI_ABI
