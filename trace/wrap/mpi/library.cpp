#include "trace/wrap/mpi/library.hpp"

#include "core/wire/info.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/mpi/communicators.hpp"
#include "trace/wrap/real_symbol.hpp"
#include "trace/wrap/signature.hpp"

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

// The beginning and end of MPI in a process, and what the tracer asks MPI about.
namespace {

void learnIdentity() {
  const MpiLibrary& library = mpiLibrary();
  if (library.world != nullptr) {
    auto* const world = static_cast<MPI_Comm>(library.world);
    mpi_identity.known = ask(OMNIO_LAZY_MPI(PMPI_Comm_rank), world, &mpi_identity.rank) &&
                         ask(OMNIO_LAZY_MPI(PMPI_Comm_size), world, &mpi_identity.ranks);
  }
  if (!isActive() || !openContainer()) return;
  appendIdentity();
  knowPredefined();
}

// The calls that the library makes inside are its own business: they are recorded one layer deeper.
template <CallId kCall, typename Real, typename... A>
int mpiCall(Real real, A... a) {
  Thread& self = thread;
  return interceptWith<kCall, int>(
      [real, &self](A... arguments) {
        const DeeperLayer layer(self);
        return real(arguments...);
      },
      a...);
}

template <typename... A>
auto starting(int (*real)(A...)) {
  return [real](A... arguments) {
    const int result = real(arguments...);
    if (result == MPI_SUCCESS) learnIdentity();
    return result;
  };
}

template <CallId kCall, typename... A>
int init(A... a) {
  return mpiCall<kCall>(starting(realMpi<int(A...)>(kCall)), a...);
}

template <CallId kCall>
int finalize() {
  return mpiCall<kCall>(realMpi<int()>(kCall));
}

// Its death takes the job with it: what was recorded is written out first.
int abortJob(MPI_Comm communicator, int code) {
  if (isActive() && hasContainer()) {
    char digits[24];
    appendFact(wire::info::kAborted, Text(digits, sizeof digits).putSigned(code).words());
  }
  finish(wire::AccountState::kAborted);
  return mpiFunction<int(MPI_Comm, int)>("PMPI_Abort")(communicator, code);
}

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_MPI_PAIR(MPI_Init, 2, init)
OMNIO_MPI_PAIR(MPI_Init_thread, 4, init)
OMNIO_MPI_PAIR(MPI_Finalize, 0, finalize)
OMNIO_EXPORT int MPI_Abort(MPI_Comm communicator, int code) { return abortJob(communicator, code); }
OMNIO_EXPORT int PMPI_Abort(MPI_Comm communicator, int code) {
  return abortJob(communicator, code);
}
