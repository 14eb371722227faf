// The text form of a datatype: docs/formats/trace.md, "Types".
#pragma once

#include "trace/runtime/sys/long_text.hpp"
#include "trace/wrap/mpi/library.hpp"

namespace omnio::trace {

// Appends it; gives the text up when the type cannot be told (trace/wrap/mpi/datatype.hpp).
void putType(LongText& out, MPI_Datatype type);

}  // namespace omnio::trace
