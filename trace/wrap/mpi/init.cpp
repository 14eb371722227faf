// The beginning and end of MPI in a process, and what the tracer asks MPI about.
#include "core/wire/info.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/mpi/abi.hpp"
#include "trace/wrap/mpi/communicators.hpp"
#include "trace/wrap/mpi/sync_call.hpp"

#if MPI_VERSION < 4
using MPI_Session = void*;
#endif
extern "C" {
OMNIO_OF_MPI_4(Session_init, MPI_Info, MPI_Errhandler, MPI_Session*)
OMNIO_OF_MPI_4(Session_finalize, MPI_Session*)
}

namespace omnio::trace::OMNIO_MPI_ABI {
namespace {

// Before all else, MPI_Finalize calls the delete functions of MPI_COMM_SELF's attributes, the last
// that was set first (MPI-3.1, 8.7.1). HDF5 and others write and close their files in them: that
// I/O is the application's. An attribute of ours, the first that is set, is the last to go, and
// says that what follows is the library's. It knows the application's functions in all languages,
// where wrappers of MPI_Comm_create_keyval would not: bindings of Fortran and C++ hand their
// functions over in ways of their own.
//
// The thread that is in MPI_Finalize, and its stack pointer there.
struct Finalizing {
  std::atomic<Thread*> thread{nullptr};
  std::uintptr_t frame = 0;
  std::atomic<bool> has_attribute{false};
} finalizing;

// Counts as DeeperLayer from here on; the wrapper of MPI_Finalize takes it back.
int leaveCallbacks(MPI_Comm /*self*/, int /*keyval*/, void* /*value*/, void* /*extra*/) {
  if (finalizing.thread.load(std::memory_order_relaxed) != &thread || thread.depth != 0) {
    return MPI_SUCCESS;
  }
  enterMpi(thread);
  thread.mpi_frame = finalizing.frame;  // this function's own is about to go
  thread.mpi_base = 0;
  ++thread.depth;
  return MPI_SUCCESS;
}

int copyNothing(MPI_Comm /*from*/, int /*keyval*/, void* /*extra*/, void* /*in*/, void* /*out*/,
                int* is_copied) {
  *is_copied = 0;
  return MPI_SUCCESS;
}

void setLastAttribute() {
  int keyval = 0;
  if (selfCommunicator() == MPI_Comm{} ||
      !ask(OMNIO_LAZY_MPI(PMPI_Comm_create_keyval), copyNothing, leaveCallbacks, &keyval,
           static_cast<void*>(nullptr))) {
    return;
  }
  const bool is_set = ask(OMNIO_LAZY_MPI(PMPI_Comm_set_attr), selfCommunicator(), keyval,
                          static_cast<void*>(nullptr));
  finalizing.has_attribute.store(is_set, std::memory_order_release);
  ask(OMNIO_LAZY_MPI(PMPI_Comm_free_keyval), &keyval);  // it lives as long as the attribute
}

void learnIdentity() {
  const MPI_Comm world = worldCommunicator();
  const bool is_known = ask(OMNIO_LAZY_MPI(PMPI_Comm_rank), world, &mpi_identity.rank) &&
                        ask(OMNIO_LAZY_MPI(PMPI_Comm_size), world, &mpi_identity.ranks);
  mpi_identity.known.store(is_known, std::memory_order_release);
  if (!isActive()) return;
  setLastAttribute();
  if (!openContainer()) return;
  appendIdentity();
  if (isSpawned()) appendFact(wire::info::kIsSpawned, "yes");
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

// A session does not make MPI_COMM_WORLD: the rank is the launcher's.
template <CallId kCall, typename... A>
int session(A... a) {
  auto* const real = realMpi<int(A...)>(kCall);
  return real == nullptr ? MPI_ERR_OTHER : mpiCall<kCall>(real, a...);
}

template <CallId kCall>
int finalize() {
  auto* const real = realMpi<int()>(kCall);
  if (!finalizing.has_attribute.exchange(false) || isInsideMpi(thread)) return mpiCall<kCall>(real);
  return interceptWith<kCall, int>([real] {
    Thread& self = thread;
    finalizing.frame = stackPointer();
    finalizing.thread.store(&self, std::memory_order_relaxed);
    const int result = real();
    finalizing.thread.store(nullptr, std::memory_order_relaxed);
    self.depth = 0;
    self.mpi_frame = 0;
    return result;
  });
}

// Its death takes the job with it: what was recorded is written out first.
int abortJob(MPI_Comm communicator, int code) {
  if (isActive() && hasContainer()) {
    char digits[24];
    appendFact(wire::info::kAborted, Text(digits, sizeof digits).putSigned(code).words());
  }
  finish(wire::AccountState::kAborted);
  return OMNIO_LAZY_MPI(PMPI_Abort)(communicator, code);
}

#if MPI_VERSION >= 4
#define OMNIO_UNRECORDED(NAME, COUNT) \
  static_assert(std::tuple_size_v<Signature<decltype(::MPI_##NAME)>::Arguments> == (COUNT));
#include "trace/wrap/mpi/unrecorded.def"
#undef OMNIO_UNRECORDED
#endif

}  // namespace

OMNIO_MPI_PAIR(MPI_Init, 2, init)
OMNIO_MPI_PAIR(MPI_Init_thread, 4, init)
OMNIO_MPI_PAIR(MPI_Finalize, 0, finalize)
OMNIO_MPI_PAIR(MPI_Session_init, 3, session)
OMNIO_MPI_PAIR(MPI_Session_finalize, 1, session)
OMNIO_MPI_EXPORT(MPI_Abort, 2, abortJob(a0, a1))
OMNIO_MPI_EXPORT(PMPI_Abort, 2, abortJob(a0, a1))

}  // namespace omnio::trace::OMNIO_MPI_ABI
