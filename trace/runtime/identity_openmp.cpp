// The OpenMP number of a thread, where the image has an OpenMP library. Linked into the openmp and
// hybrid libraries.
#include <initializer_list>

#include "trace/runtime/identity.hpp"

// Weak: an image without OpenMP resolves it to nothing. One that loads its OpenMP library later
// keeps its threads' system identity, with no number.
extern "C" int omp_get_thread_num() __attribute__((weak));

namespace omnio::trace {

const char kLibraryName[] = OMNIO_LIBRARY_NAME;
int openmpThread() { return omp_get_thread_num != nullptr ? omp_get_thread_num() : -1; }

const char* openmpLibrary() {
  for (const char* prefix : {"libgomp.", "libomp.", "libiomp5."}) {
    const char* name = loadedLibrary(prefix);
    if (name != nullptr) return name;
  }
  return nullptr;
}

}  // namespace omnio::trace
