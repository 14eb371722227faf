// Which group of ranks (trace/runtime/mpi_groups.hpp) a communicator is.
#pragma once

#include "trace/runtime/mpi_groups.hpp"
#include "trace/wrap/mpi_library.hpp"

namespace omnio::trace {

// MPI_COMM_WORLD and MPI_COMM_SELF; when MPI has begun.
void knowPredefined();

// The communicator's group, nullptr of one that is not known: between jobs that were not started
// together, or made before recording.
inline Group* groupOf(MPI_Comm communicator) { return findGroup(communicator); }
inline Group* groupOf(MPI_Win window) { return findGroup(window); }

// A group of the same ranks as its parent: of a window or a file, made by the parent's collective
// call `seq`. nullptr when the parent is not known.
Group* deriveGroup(const void* object, const Group* parent, std::uint64_t seq, GroupKind kind);

// A communicator that was made of `parent` by its collective call `seq`.
Group* newCommunicator(MPI_Comm communicator, const Group* parent, std::uint64_t seq);

// Forgets a communicator or window that is freed: also when a call of MPI frees it with another.
inline void forgetGroup(const void* object) { dropGroup(object); }

}  // namespace omnio::trace
