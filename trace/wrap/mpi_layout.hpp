// Where the data of an MPI datatype lies, as far as it is regular.
#pragma once

#include "trace/wrap/mpi_library.hpp"
#include "trace/wrap/regular_blocks.hpp"

namespace omnio::trace {

// How the type was made is asked of MPI (MPI-3.1, 4.1.13): contiguous, vector, subarray, and copies
// of them with other bounds. Not regular are those that are made otherwise, have strides within
// strides, or more dimensions than anybody has.
RegularBlocks regularBlocksOf(MPI_Datatype type);

}  // namespace omnio::trace
