// The order of calls by shared file pointers (MPI-3.1, 13.4.4). Each call begins where the call
// before left the pointer. Where the trace has the offsets, each call waits for that one, so that a
// replay gives each rank the offsets of the recording.
//
// Collective calls need no wait: MPI orders them by rank.
#pragma once

#include "core/tracefile/trace.hpp"
#include "preprocess/analysis.hpp"
#include "preprocess/mpi_tables.hpp"
#include "preprocess/order/dependencies.hpp"

namespace omnio::preprocess {

// Adds the waits between steps of the MPI layer. Reads the trace once more, but only if a process
// used shared pointers. Memory grows with the number of these calls.
void orderSharedPointers(const tracefile::Trace& trace, const SourceThreads& sources,
                         const MpiTables& tables, event::PathTable& paths,
                         Dependencies& dependencies);

}  // namespace omnio::preprocess
