// The group of ranks (trace/runtime/mpi/objects.hpp) of a communicator.
#pragma once
#include "trace/runtime/mpi/objects.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/wrap/mpi/abi.hpp"
#include "trace/wrap/mpi/sync_call.hpp"

namespace omnio::trace::OMNIO_MPI_ABI {

// Puts the first `count` ranks of the group `from`, as ranks of the group `to`, into `ranks`. False
// when MPI cannot tell.
bool translateRanks(MPI_Group from, int* ranks, int count, MPI_Group to);

// MPI_COMM_WORLD and MPI_COMM_SELF; when MPI has begun.
void knowPredefined();
// Whether MPI_Comm_spawn of other ranks has started this process.
bool isSpawned();

// The group of a communicator, a window or a file; nullptr of one that is not known: between jobs
// that were not started together, or made before recording.
template <typename Object>
Group* groupOf(Object object) {
  return findGroup(keyOf(object));
}

// A group of the same ranks as its parent: of a window or a file, made by the parent's collective
// call `seq`. nullptr when the parent is not known.
Group* deriveGroup(const void* key, const Group* parent, std::uint64_t seq, GroupKind kind);

// Defined in collectives.cpp: whose data a rank gets in neighbourhood collectives (MPI-3.1, 7.6).
// It is told once for each communicator that has a topology.
void tellNeighbours(MPI_Comm communicator, const Group& group);

// An object that is made inside another MPI call stays unknown, and its address may have been that
// of one that was known. Returns what the call returned.
template <typename Object>
int leaveUnknown(const SyncCall& call, const Object* place) {
  if (call.knowsObjects() && !call.failed()) dropGroup(keyOf(*place));
  return call.result();
}

// A call by which all of a communicator, its argument kParent, make an object. `remember` gets the
// object, the communicator's group and the number of the call on it, and returns the object's
// group.
template <CallId kLike, std::size_t kParent, typename Remember, typename Real, typename... A>
int makeByAll(CallId id, Remember remember, Real* real, A... a) {
  SyncCall call(id, [&] { return real(a...); });
  const auto* const place = lastArgument(a...);
  if (!call.isOurs()) return leaveUnknown(call, place);
  if (call.failed()) return call.record<kLike>(0, 0, 0);
  Group* const parent = groupOf(argumentAt<kParent>(a...));
  const std::uint64_t seq = nextCall(parent);
  const Group* const made = remember(*place, parent, seq);
  return call.record<kLike>(parent, made, seq);
}

// Frees a communicator or a window. One whose freeing failed is there still; one that was freed
// inside another MPI call is gone as well.
template <typename Real, typename Object>
int freeObject(CallId id, Real* real, Object* place) {
  SyncCall call(id);
  const bool is_known = call.knowsObjects() && place != nullptr;
  const Object object = is_known ? *place : Object{};
  const Group* const there = is_known ? groupOf(object) : nullptr;
  // Another thread may be given its address while the call lasts.
  const Group freed = there == nullptr ? Group{} : *there;
  call.make([&] { return real(place); });
  if (there == nullptr || call.failed()) {
    call.record<CallId::MPI_Comm_free>(0, 0);
  } else {
    dropGroup(keyOf(object), freed.id);
    call.record<CallId::MPI_Comm_free>(freed.number, std::uint64_t{freed.calls} + 1);
  }
  return call.result();
}

}  // namespace omnio::trace::OMNIO_MPI_ABI
