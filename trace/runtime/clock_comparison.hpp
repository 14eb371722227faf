// Compares the clocks of a job's nodes, at the beginning and the end of MPI, by messages between
// the first processes of the nodes; what was found stands in the trace as clock.start and clock.end
// (core/wire/info.hpp). Whatever fails, fails in silence: there is no such fact then. Why not by
// MPI: docs/decisions/0007.
#pragma once

namespace omnio::trace {

// Before the real MPI_Init, which nobody leaves before all have come: tells the other nodes'
// processes how to reach this one.
void beforeClocksAtStart();
// After it, whether it succeeded or not.
void compareClocksAtStart(bool mpi_is_there);
// The same around the real MPI_Finalize.
void beforeClocksAtEnd();
void compareClocksAtEnd();

}  // namespace omnio::trace
