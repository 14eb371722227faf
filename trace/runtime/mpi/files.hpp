// Which handle an MPI_File of this process stands for.
#pragma once
#include "trace/runtime/handle_table.hpp"

namespace omnio::trace {

// After an open. What the same MPI_File stood for before, closed out of our sight, is released.
void rememberMpiFile(const void* file, Entry entry);
// An entry that is not traced when the file is not known: opened before recording, or left out.
Entry findMpiFile(const void* file);
// Takes it out before it is closed, since another open may get the same MPI_File at once.
Entry takeMpiFile(const void* file);

// What an MPI file name means as a path. MPI leaves that to the implementation (MPI-3.1, 13.2.1).
// ROMIO takes "ufs:/data/out" for /data/out on a file system of the kind ufs; OMPIO for a file of
// just that name. So a known prefix is passed over unless there is a file with it. Returns a part
// of `name`.
const char* withoutFileSystem(const char* name);

}  // namespace omnio::trace
