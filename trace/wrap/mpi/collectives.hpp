// Whose data a rank gets in neighbourhood collectives (MPI-3.1, sections 7.6): told once for each
// communicator that has a topology.
#pragma once
#include "trace/runtime/mpi/groups.hpp"
#include "trace/wrap/mpi/library.hpp"

namespace omnio::trace {

void tellNeighbours(MPI_Comm communicator, const Group& group);

}  // namespace omnio::trace
