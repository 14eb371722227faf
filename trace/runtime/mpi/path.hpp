// What an MPI file name means as a path. MPI leaves that to the implementation (MPI-3.1, 13.2.1).
#pragma once

namespace omnio::trace {

// ROMIO takes "ufs:/data/out" for /data/out on a file system of the kind ufs; OMPIO for a file of
// just that name. So a known prefix is passed over unless there is a file with it. Returns a part
// of `name`.
const char* withoutFileSystem(const char* name);

}  // namespace omnio::trace
