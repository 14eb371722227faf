// omnio log --mpi: the matched picture of a trace, one MPI event a line, by the time they began.
#pragma once

#include "cli/commands/commands.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::cli {

// Returns the exit status. The selection's rank and thread say what is printed, not what is read.
int printMpiLog(const tracefile::Trace& trace, const TraceSelection& selection, bool json);

}  // namespace omnio::cli
