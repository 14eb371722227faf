// Compares the clocks of a job's nodes, in MPI_Init and in MPI_Finalize, by messages between the
// first processes of the nodes; what was found stands in the trace as clock.start and clock.end
// (core/wire/info.hpp). Whatever fails, fails in silence: there is no such fact then.
#pragma once

namespace omnio::trace {

// Before the real MPI_Init: tells the other nodes' processes that this one will take part.
void beforeClocks();
// After it, whether it succeeded or not.
void compareClocksAtStart(bool mpi_is_there);
// Before the real MPI_Finalize.
void compareClocksAtEnd();

}  // namespace omnio::trace
