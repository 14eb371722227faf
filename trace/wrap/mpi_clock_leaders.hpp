// The processes that compare their nodes' clocks: the first traced one of each node whose clock is
// another than that of rank 0's node. How they find each other: trace/runtime/clock_marks.hpp.
#pragma once

#include "trace/wrap/mpi_library.hpp"

namespace omnio::trace {

// Before the real MPI_Init.
void markClockLeader();
// After it: their communicator, with rank 0 first, or nullptr for all but them. It is one of its
// own, so that a receive which the application forgot to cancel catches none of their messages;
// whoever got it frees it.
MPI_Comm gatherClockLeaders(bool mpi_is_there);

}  // namespace omnio::trace
