// Datatypes of views as the trace tells them: how a type was made, asked of MPI (MPI-3.1, 4.1.13)
// and recorded as a fact once for each content. docs/formats/trace.md, "Types".
#pragma once
#include <cstdint>

#include "trace/runtime/sys/text.hpp"
#include "trace/wrap/mpi/library.hpp"
#include "trace/wrap/mpi/open_mpi.hpp"

namespace omnio::trace {

// The text form of a datatype: docs/formats/trace.md, "Types".
// Appends it; gives the text up when the type cannot be told (trace/wrap/mpi/datatype.hpp).
void putType(LongText& out, MPI_Datatype type);

// The number of the type in this process; 0 when it cannot be told: made in a way that MPI-3.1 does
// not know, nested more deeply or larger than anybody's, or there is no trace to tell it to. Only
// of a type that MPI has accepted.
std::uint32_t typeNumberOf(MPI_Datatype type);

}  // namespace omnio::trace
