// The text form of a datatype: docs/formats/trace.md, "Types".
#pragma once

#include "trace/runtime/long_text.hpp"
#include "trace/wrap/mpi_library.hpp"

namespace omnio::trace {

// Appends it; gives the text up when the type cannot be told (mpi_type.hpp).
void putType(LongText& out, MPI_Datatype type);

}  // namespace omnio::trace
