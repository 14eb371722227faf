// Waits and tests, and requests that are cancelled or freed. A request is looked at before the
// call, which may free it, and counts as complete when the call says so. Tests that find nothing
// are no events.
#include "trace/runtime/mpi/message_streams.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/wrap/mpi/sync_call.hpp"

namespace omnio::trace {
namespace {

using DoneList = RequestList<CallId::MPI_Wait, CallId::completed>;

// A request as it was before the call.
struct Pending {
  MPI_Request object = nullptr;
  Request request;  // number 0: not known

  bool needsStatus() const {
    return request.number != 0 &&
           (request.kind == Request::kReceive || request.kind == Request::kRead);
  }
};

Pending lookAt(const MPI_Request* place) {
  Pending pending;
  if (place == nullptr || *place == nullptr) return pending;
  pending.object = *place;
  if (const Request* request = findRequest(*place)) pending.request = *request;
  return pending;
}

// It is not under way any more; a persistent one may be started again. False when it was another's.
bool forget(const Pending& pending) {
  if (!pending.request.persistent) return forgetRequest(pending.object, pending.request.number);
  if (Request* place = findRequest(pending.object); place != nullptr) place->number = 0;
  return true;
}

// Puts what was found complete into the list.
void complete(const Pending& pending, const MPI_Status* status, DoneList& list) {
  const Request& request = pending.request;
  wire::DoneRequest done{.request = request.number};
  // Found complete by another that has the object.
  if (!forget(pending) && request.shared) return;
  // Of a file's request nobody fills the flag in, and it cannot be cancelled.
  if (request.kind == Request::kReceive && status != nullptr && isCancelled(*status)) {
    done.kind = wire::DoneRequest::kCancelled;
  } else if (request.kind == Request::kReceive && status != nullptr) {
    const Received received = receive(request.id, *status);
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

// The call's statuses, or some of our own where the application wants none and we do.
class Statuses {
 public:
  Statuses(MPI_Status* given, const MPI_Status* ignore, bool are_needed, std::size_t count)
      : own_(given == ignore && are_needed ? count : 0),
        is_own_(given == ignore && are_needed && own_),
        used_(is_own_ ? own_.data() : given),
        ignore_(ignore) {}

  MPI_Status* used() const { return used_; }
  const MPI_Status* at(std::size_t i) const { return used_ == ignore_ ? nullptr : used_ + i; }

 private:
  const Scratch<MPI_Status, 16> own_;
  const bool is_own_;
  MPI_Status* const used_;
  const MPI_Status* const ignore_;
};

MPI_Status* ignoredStatus() { return MPI_STATUS_IGNORE; }
MPI_Status* ignoredStatuses() { return MPI_STATUSES_IGNORE; }

// A message that is longer than the buffer is an error, and has been received all the same.
bool isTruncated(int result) { return result == MPI_ERR_TRUNCATE; }

// MPI_Wait and MPI_Test; `flag` is nullptr for the first.
template <typename Make>
int completeOne(CallId id, MPI_Request* request, MPI_Status* status, const int* flag, Make make) {
  SyncCall call(id, flag != nullptr);
  if (!call.knowsObjects()) return call.make([&] { return make(status); });
  const Pending pending = lookAt(request);
  const Statuses statuses(status, ignoredStatus(), pending.needsStatus(), 1);
  call.make([&] { return make(statuses.used()); });
  const bool is_done = !call.failed() || isTruncated(call.result());
  if (flag != nullptr && (!is_done || *flag == 0)) return call.result();
  call.countWhenFound();
  DoneList list(call);
  if (is_done && pending.request.number != 0) complete(pending, statuses.at(0), list);
  list.finish();
  return call.result();
}

// Which calls of several find how much complete.
enum class Form { kAll, kAny, kSome };

// Those that are complete: how many, which, and where the statuses of them stand.
struct Found {
  int count = 0;
  const int* places = nullptr;  // nullptr: all, in order
  bool packed = false;          // statuses stand in the order of places
};

template <Form kForm, typename Make, typename Find>
int completeSome(CallId id, int count, MPI_Request* requests, MPI_Status* statuses_in,
                 const MPI_Status* ignore, bool is_test, Make make, Find find) {
  SyncCall call(id, is_test);
  const auto n = static_cast<std::size_t>(count > 0 ? count : 0);
  if (!call.knowsObjects() || requests == nullptr)
    return call.make([&] { return make(statuses_in); });
  const Scratch<Pending, 16> pending(n);
  if (!pending) return call.make([&] { return make(statuses_in); });
  bool is_needed = false;
  for (std::size_t i = 0; i < n; ++i) {
    pending[i] = lookAt(&requests[i]);
    is_needed = is_needed || pending[i].needsStatus();
  }
  const Statuses statuses(statuses_in, ignore, is_needed, kForm == Form::kAny ? 1 : n);
  call.make([&] { return make(statuses.used()); });
  // Of some that failed the statuses tell which are complete (MPI-3.1, 3.7.5).
  const bool is_partly = call.result() == MPI_ERR_IN_STATUS && statuses.used() != ignore;
  const bool is_done =
      !call.failed() || is_partly || (kForm == Form::kAny && isTruncated(call.result()));
  const Found found = is_done ? find() : Found{};
  if (is_test && found.count <= 0) return call.result();
  call.countWhenFound();
  DoneList list(call);
  for (int i = 0; i < found.count; ++i) {
    const int place = found.places == nullptr ? i : found.places[i];
    if (place < 0 || static_cast<std::size_t>(place) >= n) continue;
    const Pending& one = pending[static_cast<std::size_t>(place)];
    if (one.request.number == 0) continue;
    const auto at = static_cast<std::size_t>(found.packed ? i : place);
    if (is_partly) {
      const int error = statuses.at(at)->MPI_ERROR;
      if (error == MPI_ERR_PENDING) continue;
      if (error != MPI_SUCCESS && error != MPI_ERR_TRUNCATE) {
        forget(one);
        list.add(wire::DoneRequest{.request = one.request.number,
                                   .kind = wire::DoneRequest::kCancelled});
        continue;
      }
    }
    complete(one, statuses.at(at), list);
  }
  list.finish();
  return call.result();
}

template <typename Real>
int waitOne(CallId id, Real* real, MPI_Request* request, MPI_Status* status) {
  return completeOne(id, request, status, nullptr,
                     [&](MPI_Status* used) { return real(request, used); });
}

template <typename Real>
int testOne(CallId id, Real* real, MPI_Request* request, int* flag, MPI_Status* status) {
  return completeOne(id, request, status, flag,
                     [&](MPI_Status* used) { return real(request, flag, used); });
}

template <typename Real>
int waitAll(CallId id, Real* real, int count, MPI_Request* requests, MPI_Status* statuses) {
  return completeSome<Form::kAll>(
      id, count, requests, statuses, ignoredStatuses(), false,
      [&](MPI_Status* used) { return real(count, requests, used); },
      [&] { return Found{.count = count}; });
}

template <typename Real>
int testAll(CallId id, Real* real, int count, MPI_Request* requests, int* flag,
            MPI_Status* statuses) {
  return completeSome<Form::kAll>(
      id, count, requests, statuses, ignoredStatuses(), true,
      [&](MPI_Status* used) { return real(count, requests, flag, used); },
      [&] { return Found{.count = *flag != 0 ? count : 0}; });
}

template <typename Real>
int waitAny(CallId id, Real* real, int count, MPI_Request* requests, int* index,
            MPI_Status* status) {
  return completeSome<Form::kAny>(
      id, count, requests, status, ignoredStatus(), false,
      [&](MPI_Status* used) { return real(count, requests, index, used); },
      [&] { return Found{.count = 1, .places = index, .packed = true}; });
}

template <typename Real>
int testAny(CallId id, Real* real, int count, MPI_Request* requests, int* index, int* flag,
            MPI_Status* status) {
  return completeSome<Form::kAny>(
      id, count, requests, status, ignoredStatus(), true,
      [&](MPI_Status* used) { return real(count, requests, index, flag, used); },
      [&] { return Found{.count = *flag != 0 ? 1 : 0, .places = index, .packed = true}; });
}

template <bool kIsTest, typename Real>
int completeFew(CallId id, Real* real, int count, MPI_Request* requests, int* out_count,
                int* places, MPI_Status* statuses) {
  return completeSome<Form::kSome>(
      id, count, requests, statuses, ignoredStatuses(), kIsTest,
      [&](MPI_Status* used) { return real(count, requests, out_count, places, used); },
      [&] {
        return Found{.count = *out_count == MPI_UNDEFINED ? 0 : *out_count,
                     .places = places,
                     .packed = true};
      });
}

template <typename Real>
int cancel(CallId id, Real* real, MPI_Request* request) {
  SyncCall call(id);
  Pending pending;
  if (call.isOurs()) pending = lookAt(request);
  call.make([&] { return real(request); });
  if (call.isOurs()) {
    call.record<CallId::MPI_Cancel>({asNumber(pending.request.number)});
  }
  return call.result();
}

template <typename Real>
int freeRequest(CallId id, Real* real, MPI_Request* request) {
  SyncCall call(id);
  Pending pending;
  if (call.knowsObjects()) {
    pending = lookAt(request);
    if (pending.object != nullptr) {
      Request gone;
      takeRequest(pending.object, gone);
    }
  }
  call.make([&] { return real(request); });
  if (call.isOurs()) {
    call.record<CallId::MPI_Cancel>({asNumber(pending.request.number)});
  }
  return call.result();
}

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_MPI_BOTH(Wait, 2, waitOne)
OMNIO_MPI_BOTH(Test, 3, testOne)
OMNIO_MPI_BOTH(Waitall, 3, waitAll)
OMNIO_MPI_BOTH(Testall, 4, testAll)
OMNIO_MPI_BOTH(Waitany, 4, waitAny)
OMNIO_MPI_BOTH(Testany, 5, testAny)
OMNIO_MPI_BOTH(Waitsome, 5, completeFew<false>)
OMNIO_MPI_BOTH(Testsome, 5, completeFew<true>)
OMNIO_MPI_BOTH(Cancel, 1, cancel)
OMNIO_MPI_BOTH(Request_free, 1, freeRequest)

namespace omnio::trace {

// What a call begins is remembered until another finds it complete; what a message counts as.
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
