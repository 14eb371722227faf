// Waits and tests, and requests that are cancelled or freed. A request is looked at before the
// call, which may free it, and counts as complete when the call says so. Tests that find nothing
// are no events.
#include "trace/runtime/mpi/objects.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/wrap/mpi/sync_call.hpp"

namespace omnio::trace::OMNIO_MPI_ABI {
namespace {

using DoneList = RequestList<CallId::MPI_Wait, CallId::completed>;

// A request as it was before the call.
struct Pending {
  MPI_Request object{};
  Request request;  // number 0: not known

  bool needsStatus() const {
    return request.number != 0 &&
           (request.kind == Request::kReceive || request.kind == Request::kRead);
  }
};

Pending lookAt(const MPI_Request* place) {
  Pending pending;
  if (place == nullptr || *place == MPI_Request{}) return pending;
  pending.object = *place;
  if (const Request* request = findRequest(keyOf(*place))) pending.request = *request;
  return pending;
}

// It is not under way any more; a persistent one may be started again. False when it was another's.
bool forget(const Pending& pending) {
  if (!pending.request.persistent)
    return forgetRequest(keyOf(pending.object), pending.request.number);
  if (Request* place = findRequest(keyOf(pending.object)); place != nullptr) place->number = 0;
  return true;
}

// Puts what was found complete into the list.
void complete(const Pending& pending, const MPI_Status* status, bool is_cut, DoneList& list) {
  const Request& request = pending.request;
  wire::DoneRequest done{.request = request.number};
  // Found complete by another that has the object.
  if (!forget(pending) && request.shared) return;
  // The flag of a file's request is never filled in, and it cannot be cancelled.
  if (request.kind == Request::kReceive && status != nullptr && isCancelled(*status)) {
    done.kind = wire::DoneRequest::kCancelled;
  } else if (request.kind == Request::kReceive && status != nullptr) {
    const Received received = receive(request.id, *status, is_cut);
    done.kind = wire::DoneRequest::kReceived;
    done.comm = request.comm;
    done.source = received.source;
    done.tag = received.tag;
    done.seq = received.seq;
    done.bytes = received.bytes;
  } else if (request.kind == Request::kRead && status != nullptr) {
    done.kind = wire::DoneRequest::kGot;
    done.bytes = bytesIn(*status);
  }
  list.add(done);
}

// MPI_Wait and MPI_Test, which has a flag in front of the status.
template <typename Real, typename... A>
int completeOne(CallId id, Real* real, MPI_Request* request, A... a) {
  const int* const flag = argumentOf<int*>(a...);
  SyncCall call(id, flag != nullptr);
  if (!call.knowsObjects()) return call.make([&] { return real(request, a...); });
  const Pending pending = lookAt(request);
  const Statuses status(argumentOf<MPI_Status*>(a...), pending.needsStatus());
  call.make([&] { return real(request, status.in(a)...); });
  if (flag != nullptr && !call.hasReceived()) return call.result();
  if (flag != nullptr && *flag == 0) return call.foundNothing();
  call.countWhenFound();
  DoneList list(call);
  if (call.hasReceived() && pending.request.number != 0) {
    complete(pending, status.at(0), call.failed(), list);
  }
  return list.finish();
}

// Calls on several requests wait for all, any or some of them. After the requests they take:
enum class Form {
  kAll,  // [flag,] statuses
  kAny,  // index, [flag,] status
  kSome  // count, indices, statuses
};

// The requests that are complete: how many, which, and where their statuses are.
struct Found {
  int count = 0;
  const int* places = nullptr;  // nullptr: all, in order
  bool packed = false;          // statuses stand in the order of places
};

template <Form kForm, typename... A>
Found found(int count, A... a) {
  const int* const first = argumentOf<int*, 0>(a...);
  const int* const second = argumentOf<int*, 1>(a...);
  if constexpr (kForm == Form::kAll) {
    return {.count = first == nullptr || *first != 0 ? count : 0};
  } else if constexpr (kForm == Form::kAny) {
    return {.count = second == nullptr || *second != 0 ? 1 : 0, .places = first, .packed = true};
  } else {
    return {.count = *first == MPI_UNDEFINED ? 0 : *first, .places = second, .packed = true};
  }
}

template <Form kForm, typename Real, typename... A>
int completeSome(CallId id, Real* real, int count, MPI_Request* requests, A... a) {
  const bool is_test = calls::does(calls::rowOf(id), calls::Effect::kTests);
  SyncCall call(id, is_test);
  const auto n = static_cast<std::size_t>(count > 0 ? count : 0);
  const auto as_it_is = [&] { return real(count, requests, a...); };
  if (!call.knowsObjects() || requests == nullptr) return call.make(as_it_is);
  const Scratch<Pending, 16> pending(n);
  if (!pending) return call.make(as_it_is);
  bool is_needed = false;
  for (std::size_t i = 0; i < n; ++i) {
    pending[i] = lookAt(&requests[i]);
    is_needed = is_needed || pending[i].needsStatus();
  }
  const MPI_Status* const ignore = kForm == Form::kAny ? MPI_STATUS_IGNORE : MPI_STATUSES_IGNORE;
  const Statuses statuses(argumentOf<MPI_Status*>(a...), is_needed, ignore,
                          kForm == Form::kAny ? 1 : n);
  call.make([&] { return real(count, requests, statuses.in(a)...); });
  // Where some failed, the statuses say which are complete (MPI-3.1, 3.7.5).
  const bool is_partly = call.hasClass(MPI_ERR_IN_STATUS) && statuses.used() != ignore;
  const bool is_done = !call.failed() || is_partly || (kForm == Form::kAny && call.hasReceived());
  const Found done = is_done ? found<kForm>(count, a...) : Found{};
  if (is_test && done.count <= 0) return is_done ? call.foundNothing() : call.result();
  call.countWhenFound();
  DoneList list(call);
  for (int i = 0; i < done.count; ++i) {
    const int place = done.places == nullptr ? i : done.places[i];
    if (place < 0 || static_cast<std::size_t>(place) >= n) continue;
    const Pending& one = pending[static_cast<std::size_t>(place)];
    if (one.request.number == 0) continue;
    const auto at = static_cast<std::size_t>(done.packed ? i : place);
    bool is_cut = !is_partly && call.failed();
    if (is_partly) {
      const int error = errorClass(statuses.at(at)->MPI_ERROR);
      if (error == MPI_ERR_PENDING) continue;
      is_cut = error == MPI_ERR_TRUNCATE;
      if (error != MPI_SUCCESS && error != MPI_ERR_TRUNCATE) {
        forget(one);
        list.add(wire::DoneRequest{.request = one.request.number,
                                   .kind = wire::DoneRequest::kCancelled});
        continue;
      }
    }
    complete(one, statuses.at(at), is_cut, list);
  }
  return list.finish();
}

// MPI_Cancel, and MPI_Request_free, after which the request is not known any more.
template <bool kFrees, typename Real>
int giveUp(CallId id, Real* real, MPI_Request* request) {
  SyncCall call(id);
  const Pending pending = call.knowsObjects() ? lookAt(request) : Pending{};
  if (kFrees && pending.object != MPI_Request{}) takeRequest(keyOf(pending.object));
  call.make([&] { return real(request); });
  return call.isOurs() ? call.record<CallId::MPI_Cancel>(pending.request.number) : call.result();
}

}  // namespace

OMNIO_MPI_BOTH(Wait, 2, completeOne)
OMNIO_MPI_BOTH(Test, 3, completeOne)
OMNIO_MPI_BOTH(Waitall, 3, completeSome<Form::kAll>)
OMNIO_MPI_BOTH(Testall, 4, completeSome<Form::kAll>)
OMNIO_MPI_BOTH(Waitany, 4, completeSome<Form::kAny>)
OMNIO_MPI_BOTH(Testany, 5, completeSome<Form::kAny>)
OMNIO_MPI_BOTH(Waitsome, 5, completeSome<Form::kSome>)
OMNIO_MPI_BOTH(Testsome, 5, completeSome<Form::kSome>)
OMNIO_MPI_BOTH(Cancel, 1, giveUp<false>)
OMNIO_MPI_BOTH(Request_free, 1, giveUp<true>)

// Requests that a call begins are remembered until another finds them complete.
namespace {

bool isComplete(MPI_Request object) {
  int flag = 0;
  return ask(OMNIO_LAZY_MPI(PMPI_Request_get_status), object, &flag, MPI_STATUS_IGNORE) &&
         flag != 0;
}

// A library may have one object for all sends that were complete when they were made, as Open MPI's
// pml/ucx has. The first of them is remembered as any other; an address that is given again while
// it is known, of a request that is complete, is such an object.
bool isShared(MPI_Request object) {
  const Request* const there = findRequest(keyOf(object));
  if (there == nullptr || there->kind != Request::kSend || there->persistent) return false;
  const std::uint64_t number = there->number;
  if (!there->shared && !isComplete(object)) return false;
  // Asking may take long enough for another thread to take it out.
  Request* const still = findRequest(keyOf(object));
  if (still != nullptr && still->number == number) still->shared = true;
  return true;
}

}  // namespace

std::uint64_t beginRequest(MPI_Request object, Request facts) {
  if (isCompleteAlready(object)) return 0;
  if (facts.kind == Request::kSend && isShared(object)) return 0;
  facts.number = newRequestNumber();
  return addRequest(keyOf(object), facts) ? facts.number : 0;
}

Received receive(std::uint64_t group_id, const MPI_Status& status, bool is_cut) {
  Received received{
      .source = peerOf(status.MPI_SOURCE), .tag = status.MPI_TAG, .bytes = bytesIn(status)};
  if (is_cut && !kTellsWholeLength) received.bytes = 0;
  if (group_id != 0 && status.MPI_SOURCE >= 0) {
    received.seq = countIn(
        {.group = group_id, .peer = status.MPI_SOURCE, .tag = status.MPI_TAG, .way = Way::kIn});
  }
  return received;
}

}  // namespace omnio::trace::OMNIO_MPI_ABI
