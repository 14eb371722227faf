#include "trace/wrap/mpi/library.hpp"

#include "trace/runtime/identity.hpp"
#include "trace/wrap/loader.hpp"

namespace omnio::trace {

std::atomic<std::uint64_t> mpi_events{0};

const MpiLibrary& mpiLibrary() {
  static MpiLibrary library;
  if (library.handle != nullptr) return library;
  for (const char* prefix : {"libmpi.so", "libmpich.so", "libmpi_"}) {
    const char* path = loadedLibrary(prefix);
    if (path == nullptr) continue;
    void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    // In the global scope first: an executable may have a copy of the library's object, and that
    // is then the one in use.
    void* world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
    if (world == nullptr) world = dlsym(handle, "ompi_mpi_comm_world");
    library = {.path = path, .handle = handle, .world = world};
    mpi_identity.library = path;
    if (library.world == nullptr) mpi_identity.refused = path;
    break;
  }
  return library;
}

void* mpiSymbol(const char* pmpi_name) {
  void* handle = mpiLibrary().handle;
  if (handle != nullptr) return dlsym(handle, pmpi_name);
  void* symbol = dlsym(RTLD_NEXT, pmpi_name);
  return symbol != nullptr ? symbol : dlsym(RTLD_NEXT, pmpi_name + 1);
}

void* mpiObject(const char* name) {
  void* object = dlsym(RTLD_DEFAULT, name);
  void* handle = mpiLibrary().handle;
  return object == nullptr && handle != nullptr ? dlsym(handle, name) : object;
}

}  // namespace omnio::trace
