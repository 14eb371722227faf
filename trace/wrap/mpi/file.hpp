// What a trace tells of an MPI file besides its calls: hints, and how its file system lays it out.
#pragma once
#include <cstdint>

#include "trace/wrap/mpi/open_mpi.hpp"

namespace omnio::trace {

// Facts of the file with this handle (docs/formats/trace.md, "Hints"); `given` may be none.
void tellHints(MPI_File file, MPI_Info given, std::uint32_t handle);
// "File layout": of a file that exists, by the name that it was opened by.
void tellFileLayout(const char* path, std::uint32_t handle);

}  // namespace omnio::trace
