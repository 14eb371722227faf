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
    auto* const comm_rank = mpiFunction<decltype(MPI_Comm_rank)>("PMPI_Comm_rank");
    auto* const comm_size = mpiFunction<decltype(MPI_Comm_size)>("PMPI_Comm_size");
    auto* const world = static_cast<MPI_Comm>(library.world);
    mpi_identity.known = comm_rank(world, &mpi_identity.rank) == MPI_SUCCESS &&
                         comm_size(world, &mpi_identity.ranks) == MPI_SUCCESS;
  }
  if (!isActive() || !openContainer()) return;
  static char facts[4096];
  appendInfo(facts, describeIdentity(facts, sizeof facts));
  knowPredefined();
}

// What the library does inside is its own business: recorded one layer deeper.
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

template <CallId kCall>
int init(int* argc, char*** argv) {
  return mpiCall<kCall>(starting(mpiFunction<int(int*, char***)>("PMPI_Init")), argc, argv);
}

template <CallId kCall>
int initThread(int* argc, char*** argv, int required, int* provided) {
  return mpiCall<kCall>(starting(mpiFunction<int(int*, char***, int, int*)>("PMPI_Init_thread")),
                        argc, argv, required, provided);
}

template <CallId kCall>
int finalize() {
  return mpiCall<kCall>(mpiFunction<int()>("PMPI_Finalize"));
}

// Its death takes the job with it: what was recorded is written out first.
int abortJob(MPI_Comm communicator, int code) {
  if (isActive() && hasContainer()) {
    char fact[64];
    Text text(fact, sizeof fact);
    text.put(wire::info::kAborted).putByte('\0');
    if (code < 0) text.putByte('-');
    text.putNumber(static_cast<std::uint64_t>(code < 0 ? -static_cast<long>(code) : code));
    text.putByte('\0');
    appendInfo(fact, text.size());
  }
  finish(wire::AccountState::kAborted);
  return mpiFunction<int(MPI_Comm, int)>("PMPI_Abort")(communicator, code);
}

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_EXPORT int MPI_Init(int* argc, char*** argv) { return init<CallId::MPI_Init>(argc, argv); }
OMNIO_EXPORT int PMPI_Init(int* argc, char*** argv) { return init<CallId::PMPI_Init>(argc, argv); }
OMNIO_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return initThread<CallId::MPI_Init_thread>(argc, argv, required, provided);
}
OMNIO_EXPORT int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return initThread<CallId::PMPI_Init_thread>(argc, argv, required, provided);
}
OMNIO_EXPORT int MPI_Finalize() { return finalize<CallId::MPI_Finalize>(); }
OMNIO_EXPORT int PMPI_Finalize() { return finalize<CallId::PMPI_Finalize>(); }
OMNIO_EXPORT int MPI_Abort(MPI_Comm communicator, int code) { return abortJob(communicator, code); }
OMNIO_EXPORT int PMPI_Abort(MPI_Comm communicator, int code) {
  return abortJob(communicator, code);
}
