// Messages between two: sends, receives, probes. Both ends count the messages of a communicator, a
// pair of ranks and a tag, so that each send and its receive have the same number. Also those of a
// callback, inside another MPI call, count: the other end may be elsewhere.
#include "trace/runtime/mpi/message_streams.hpp"
#include "trace/wrap/mpi/communicators.hpp"
#include "trace/wrap/mpi/sync_call.hpp"

namespace omnio::trace {
namespace {

std::uint64_t countSent(const Group* group, int peer, int tag) {
  if (group == nullptr || peer < 0) return 0;
  return countIn({.group = group->id, .peer = peer, .tag = tag, .way = Way::kOut});
}

// Whether the message is gone from the stream: one that is longer than the buffer is an error, and
// has been received all the same (MPI-3.1, 3.2.4).
bool hasReceived(const SyncCall& call) {
  return !call.failed() || call.result() == MPI_ERR_TRUNCATE;
}

template <typename Real>
int send(CallId id, Real* real, const void* data, int count, MPI_Datatype type, int peer, int tag,
         MPI_Comm communicator) {
  SyncCall call(id);
  call.make([&] { return real(data, count, type, peer, tag, communicator); });
  if (!call.knowsObjects()) return call.result();
  const Group* group = call.failed() ? nullptr : groupOf(communicator);
  const std::uint64_t bytes = call.failed() ? 0 : bytesOf(count, type);
  call.record<CallId::MPI_Send>({asNumber(numberOf(group)), peer, tag, asNumber(bytes),
                                 asNumber(countSent(group, peer, tag))});
  return call.result();
}

constexpr bool isSynchronous(CallId id) { return calls::rowOf(id).sync == calls::Sync::kSyncSend; }

template <typename Real>
int sendLater(CallId id, Real* real, const void* data, int count, MPI_Datatype type, int peer,
              int tag, MPI_Comm communicator, MPI_Request* request) {
  SyncCall call(id);
  call.make([&] { return real(data, count, type, peer, tag, communicator, request); });
  if (!call.knowsObjects()) return call.result();
  const Group* group = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t began = 0;
  if (!call.failed()) {
    group = groupOf(communicator);
    bytes = bytesOf(count, type);
    began =
        beginRequest(*request, {.kind = isSynchronous(id) ? Request::kSyncSend : Request::kSend});
  }
  call.record<CallId::MPI_Isend>({asNumber(numberOf(group)), peer, tag, asNumber(bytes),
                                  asNumber(countSent(group, peer, tag)), asNumber(began)});
  return call.result();
}

template <typename Real>
int receiveNow(CallId id, Real* real, void* data, int count, MPI_Datatype type, int source, int tag,
               MPI_Comm communicator, MPI_Status* status) {
  SyncCall call(id);
  MPI_Status own;
  MPI_Status* const used = call.knowsObjects() && status == MPI_STATUS_IGNORE ? &own : status;
  call.make([&] { return real(data, count, type, source, tag, communicator, used); });
  if (!call.knowsObjects()) return call.result();
  if (!hasReceived(call)) {
    call.record<CallId::MPI_Recv>({0, source, tag, 0, 0});
    return call.result();
  }
  const Group* group = groupOf(communicator);
  const Received got = receive(idOf(group), *used);
  call.record<CallId::MPI_Recv>(
      {asNumber(numberOf(group)), got.source, got.tag, asNumber(got.bytes), asNumber(got.seq)});
  return call.result();
}

template <typename Real>
int receiveLater(CallId id, Real* real, void* data, int count, MPI_Datatype type, int source,
                 int tag, MPI_Comm communicator, MPI_Request* request) {
  SyncCall call(id);
  call.make([&] { return real(data, count, type, source, tag, communicator, request); });
  if (!call.knowsObjects()) return call.result();
  const Group* group = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t began = 0;
  if (!call.failed()) {
    group = groupOf(communicator);
    bytes = bytesOf(count, type);
    began = beginRequest(*request, {.kind = Request::kReceive,
                                    .comm = static_cast<std::uint32_t>(numberOf(group)),
                                    .id = idOf(group)});
  }
  call.record<CallId::MPI_Irecv>(
      {asNumber(numberOf(group)), source, tag, asNumber(bytes), asNumber(began)});
  return call.result();
}

template <typename Make>
int exchange(CallId id, int count, MPI_Datatype type, int peer, int tag, MPI_Comm communicator,
             MPI_Status* status, Make make) {
  SyncCall call(id);
  MPI_Status own;
  MPI_Status* const used = call.knowsObjects() && status == MPI_STATUS_IGNORE ? &own : status;
  call.make([&] { return make(used); });
  if (!call.knowsObjects()) return call.result();
  const Group* group = nullptr;
  std::uint64_t bytes = 0;
  Received got;
  if (hasReceived(call)) {
    group = groupOf(communicator);
    bytes = bytesOf(count, type);
    got = receive(idOf(group), *used);
  }
  call.record<CallId::MPI_Sendrecv>({asNumber(numberOf(group)), peer, tag, asNumber(bytes),
                                     asNumber(countSent(group, peer, tag)), got.source, got.tag,
                                     asNumber(got.bytes), asNumber(got.seq)});
  return call.result();
}

template <typename Real>
int sendReceive(CallId id, Real* real, const void* out, int count, MPI_Datatype type, int peer,
                int tag, void* in, int in_count, MPI_Datatype in_type, int source, int in_tag,
                MPI_Comm communicator, MPI_Status* status) {
  return exchange(id, count, type, peer, tag, communicator, status, [&](MPI_Status* used) {
    return real(out, count, type, peer, tag, in, in_count, in_type, source, in_tag, communicator,
                used);
  });
}

template <typename Real>
int sendReceiveReplace(CallId id, Real* real, void* data, int count, MPI_Datatype type, int peer,
                       int tag, int source, int in_tag, MPI_Comm communicator, MPI_Status* status) {
  return exchange(id, count, type, peer, tag, communicator, status, [&](MPI_Status* used) {
    return real(data, count, type, peer, tag, source, in_tag, communicator, used);
  });
}

// With a `flag` that is 0 after the call there is nothing to tell.
template <typename Make>
int probe(CallId id, int source, int tag, MPI_Comm communicator, const int* flag,
          MPI_Status* status, Make make) {
  SyncCall call(id, flag != nullptr);
  MPI_Status own;
  MPI_Status* const used = call.isOurs() && status == MPI_STATUS_IGNORE ? &own : status;
  call.make([&] { return make(used); });
  if (!call.isOurs() || (flag != nullptr && (call.failed() || *flag == 0))) return call.result();
  call.countWhenFound();
  if (call.failed()) {
    call.record<CallId::MPI_Probe>({0, source, tag, 0, 0});
    return call.result();
  }
  const Group* group = groupOf(communicator);
  std::uint64_t next = 0;
  if (group != nullptr && used->MPI_SOURCE >= 0) {
    next =
        countOf(
            {.group = group->id, .peer = used->MPI_SOURCE, .tag = used->MPI_TAG, .way = Way::kIn}) +
        1;
  }
  call.record<CallId::MPI_Probe>({asNumber(numberOf(group)), used->MPI_SOURCE, used->MPI_TAG,
                                  asNumber(bytesIn(*used)), asNumber(next)});
  return call.result();
}

template <typename Real>
int probeNow(CallId id, Real* real, int source, int tag, MPI_Comm communicator,
             MPI_Status* status) {
  return probe(id, source, tag, communicator, nullptr, status,
               [&](MPI_Status* used) { return real(source, tag, communicator, used); });
}

template <typename Real>
int probeIf(CallId id, Real* real, int source, int tag, MPI_Comm communicator, int* flag,
            MPI_Status* status) {
  return probe(id, source, tag, communicator, flag, status,
               [&](MPI_Status* used) { return real(source, tag, communicator, flag, used); });
}

// The message is taken now, and received later by its own handle.
template <typename Make>
int matchedProbe(CallId id, int source, int tag, MPI_Comm communicator, const int* flag,
                 const MPI_Message* message, MPI_Status* status, Make make) {
  SyncCall call(id, flag != nullptr);
  MPI_Status own;
  MPI_Status* const used = call.knowsObjects() && status == MPI_STATUS_IGNORE ? &own : status;
  call.make([&] { return make(used); });
  if (!call.knowsObjects() || (flag != nullptr && (call.failed() || *flag == 0)))
    return call.result();
  call.countWhenFound();
  if (call.failed()) {
    call.record<CallId::MPI_Mprobe>({0, source, tag, 0, 0, 0});
    return call.result();
  }
  const Group* group = groupOf(communicator);
  const Received got = receive(idOf(group), *used);
  std::uint64_t began = 0;
  if (got.source >= 0) {  // one from nobody has an object that all share
    began = newRequestNumber();
    addRequest(*message, {.number = began, .kind = Request::kMatched});
  }
  call.record<CallId::MPI_Mprobe>({asNumber(numberOf(group)), got.source, got.tag,
                                   asNumber(got.bytes), asNumber(got.seq), asNumber(began)});
  return call.result();
}

template <typename Real>
int matchedProbeNow(CallId id, Real* real, int source, int tag, MPI_Comm communicator,
                    MPI_Message* message, MPI_Status* status) {
  return matchedProbe(
      id, source, tag, communicator, nullptr, message, status,
      [&](MPI_Status* used) { return real(source, tag, communicator, message, used); });
}

template <typename Real>
int matchedProbeIf(CallId id, Real* real, int source, int tag, MPI_Comm communicator, int* flag,
                   MPI_Message* message, MPI_Status* status) {
  return matchedProbe(id, source, tag, communicator, flag, message, status, [&](MPI_Status* used) {
    return real(source, tag, communicator, flag, message, used);
  });
}

// The number of the matched probe that took the message; 0 when it is not known.
Request takeMessage(const MPI_Message* message) {
  Request request;
  if (message != nullptr && *message != nullptr) takeRequest(*message, request);
  return request;
}

template <typename Real>
int receiveMatched(CallId id, Real* real, void* data, int count, MPI_Datatype type,
                   MPI_Message* message, MPI_Status* status) {
  SyncCall call(id);
  Request taken;
  MPI_Status own;
  MPI_Status* used = status;
  if (call.knowsObjects()) {
    taken = takeMessage(message);
    if (status == MPI_STATUS_IGNORE) used = &own;
  }
  call.make([&] { return real(data, count, type, message, used); });
  if (call.knowsObjects()) {
    call.record<CallId::MPI_Mrecv>(
        {asNumber(call.failed() ? 0 : bytesIn(*used)), asNumber(taken.number)});
  }
  return call.result();
}

template <typename Real>
int receiveMatchedLater(CallId id, Real* real, void* data, int count, MPI_Datatype type,
                        MPI_Message* message, MPI_Request* request) {
  SyncCall call(id);
  Request taken;
  if (call.knowsObjects()) taken = takeMessage(message);
  call.make([&] { return real(data, count, type, message, request); });
  if (!call.knowsObjects()) return call.result();
  std::uint64_t bytes = 0;
  if (!call.failed()) {
    bytes = bytesOf(count, type);
    // It is found complete under the number of the probe.
    if (taken.number != 0 && !isCompleteAlready(*request)) addRequest(*request, taken);
  }
  call.record<CallId::MPI_Imrecv>({asNumber(bytes), asNumber(taken.number)});
  return call.result();
}

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_MPI_BOTH(Send, 6, send)
OMNIO_MPI_BOTH(Bsend, 6, send)
OMNIO_MPI_BOTH(Rsend, 6, send)
OMNIO_MPI_BOTH(Ssend, 6, send)
OMNIO_MPI_BOTH(Isend, 7, sendLater)
OMNIO_MPI_BOTH(Ibsend, 7, sendLater)
OMNIO_MPI_BOTH(Irsend, 7, sendLater)
OMNIO_MPI_BOTH(Issend, 7, sendLater)
OMNIO_MPI_BOTH(Recv, 7, receiveNow)
OMNIO_MPI_BOTH(Irecv, 7, receiveLater)
OMNIO_MPI_BOTH(Sendrecv, 12, sendReceive)
OMNIO_MPI_BOTH(Sendrecv_replace, 9, sendReceiveReplace)
OMNIO_MPI_BOTH(Probe, 4, probeNow)
OMNIO_MPI_BOTH(Iprobe, 5, probeIf)
OMNIO_MPI_BOTH(Mprobe, 5, matchedProbeNow)
OMNIO_MPI_BOTH(Improbe, 6, matchedProbeIf)
OMNIO_MPI_BOTH(Mrecv, 5, receiveMatched)
OMNIO_MPI_BOTH(Imrecv, 5, receiveMatchedLater)

namespace omnio::trace {

// Persistent requests of messages: made once, and begun as often as they are started.
namespace {

using BegunList = RequestList<CallId::MPI_Start, CallId::begun>;

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
int start(CallId id, int count, const MPI_Request* requests, Make make) {
  SyncCall call(id);
  call.make(make);
  if (!call.knowsObjects()) return call.result();
  BegunList list(call);
  for (int i = 0; !call.failed() && i < count; ++i) list.add(begin(requests[i]));
  list.finish();
  return call.result();
}

template <typename Real>
int startOne(CallId id, Real* real, MPI_Request* request) {
  return start(id, 1, request, [&] { return real(request); });
}

template <typename Real>
int startAll(CallId id, Real* real, int count, MPI_Request* requests) {
  return start(id, count, requests, [&] { return real(count, requests); });
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
