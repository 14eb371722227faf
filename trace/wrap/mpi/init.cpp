// The beginning and end of MPI in a process, and what the tracer asks MPI about.
#include "core/wire/info.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/mpi/abi.hpp"
#include "trace/wrap/mpi/communicators.hpp"
#include "trace/wrap/mpi/sync_call.hpp"

namespace omnio::trace::OMNIO_MPI_ABI {
namespace {

void learnIdentity() {
  const MPI_Comm world = worldCommunicator();
  const bool is_known = ask(OMNIO_LAZY_MPI(PMPI_Comm_rank), world, &mpi_identity.rank) &&
                        ask(OMNIO_LAZY_MPI(PMPI_Comm_size), world, &mpi_identity.ranks);
  mpi_identity.known.store(is_known, std::memory_order_release);
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
OMNIO_MPI_EXPORT(MPI_Abort, 2, abortJob(a0, a1))
OMNIO_MPI_EXPORT(PMPI_Abort, 2, abortJob(a0, a1))

}  // namespace omnio::trace::OMNIO_MPI_ABI
