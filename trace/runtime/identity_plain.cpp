// Threads are the operating system's; OpenMP is not looked for. Linked into the serial and MPI
// libraries.
#include "trace/runtime/identity.hpp"

namespace omnio::trace {

const char kLibraryName[] = OMNIO_LIBRARY_NAME;
int openmpThread() { return -1; }
const char* openmpLibrary() { return nullptr; }

}  // namespace omnio::trace
