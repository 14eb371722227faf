#include "trace/wrap/mpi/library.hpp"

#include "trace/runtime/identity.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/mpi/entry.hpp"

namespace omnio::trace {

constinit MpiLibrary mpi_library;
std::atomic<std::uint64_t> mpi_events{0};

namespace {

// By a symbol that the library's mpi.h makes its user need: the object MPI_COMM_WORLD, the function
// MPI_DUP_FN.
MpiAbi abiOf(void* handle, [[maybe_unused]] const char* path) {
#ifdef OMNIO_HAVE_OPEN_MPI
  if (dlsym(handle, "ompi_mpi_comm_world") != nullptr) return MpiAbi::kOpenMpi;
#endif
#ifdef OMNIO_HAVE_MPICH
  // MPICH has the interface of MPI-5, whose handles are others, in a library of this name.
  const bool is_of_the_standard = fileName(path).starts_with("libmpi_abi");
  if (!is_of_the_standard && dlsym(handle, "MPIR_Dup_fn") != nullptr) return MpiAbi::kMpich;
#endif
  return MpiAbi::kOther;
}

}  // namespace

MpiAbi findMpiLibrary() {
  const char* const path = loadedMpiLibrary();
  void* const handle = path == nullptr ? nullptr : dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return MpiAbi::kNotFound;
  const MpiAbi abi = abiOf(handle, path);
  mpi_library.path = path;
  mpi_library.handle = handle;
  mpi_library.abi.store(abi, std::memory_order_release);
  mpi_identity.library = path;
  if (abi == MpiAbi::kOther) mpi_identity.refused = path;
  return abi;
}

void* mpiSymbol(const char* pmpi_name) {
  if (mpiAbi() != MpiAbi::kNotFound) return dlsym(mpi_library.handle, pmpi_name);
  void* symbol = dlsym(RTLD_NEXT, pmpi_name);
  return symbol != nullptr ? symbol : dlsym(RTLD_NEXT, pmpi_name + 1);
}

void* mpiObject(const char* name) {
  // In the global scope first: an executable may have a copy of the library's object, and that is
  // then the one in use.
  void* object = dlsym(RTLD_DEFAULT, name);
  return object == nullptr && mpiAbi() != MpiAbi::kNotFound ? dlsym(mpi_library.handle, name)
                                                            : object;
}

PassedThrough::PassedThrough(const char* pmpi_name)
    : tick_(countMpiEvent(thread)), layer_(thread), symbol_(mpiSymbol(pmpi_name)) {
  thread.mpi_base = 0;  // the frame of this constructor is about to go
}

PassedThrough::~PassedThrough() {
  static std::atomic<bool> is_told{false};
  if (is_told.load(std::memory_order_relaxed) || !isActive() || !openContainer()) return;
  is_told.store(true, std::memory_order_relaxed);
  appendIdentity();
}

}  // namespace omnio::trace
