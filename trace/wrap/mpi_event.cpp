// MPI calls that are counted and not recorded (mpi_event.def): the tick of the MPI-IO events around
// them says how much communication lay between. The parameters come from mpi.h: a call with another
// number of them clashes with its declaration and does not compile.
#include "trace/wrap/mpi_library.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {
namespace {

template <typename Function, typename... A>
[[gnu::always_inline]] inline int countedCall(std::atomic<void*>& place, const char* pmpi_name,
                                              A... a) {
  auto* const real = realMpi<Function>(place, pmpi_name);
  Thread& self = thread;
  if (self.depth > 0 || self.in_mpi) return real(a...);
  countMpiEvent(self);
  // The depth stays: I/O in a function that the application gave to MPI is the application's.
  self.in_mpi = true;
  const int result = real(a...);
  self.in_mpi = false;
  return result;
}

}  // namespace
}  // namespace omnio::trace

#define OMNIO_MPI_EVENT(NAME, COUNT)                                                      \
  static constinit std::atomic<void*> real_##NAME{nullptr};                               \
  OMNIO_EXPORT int MPI_##NAME(OMNIO_PARAMETERS_##COUNT(MPI_##NAME)) {                     \
    return omnio::trace::countedCall<decltype(::MPI_##NAME)>(real_##NAME, "PMPI_" #NAME,  \
                                                             OMNIO_NAMES_##COUNT);        \
  }                                                                                       \
  OMNIO_EXPORT int PMPI_##NAME(OMNIO_PARAMETERS_##COUNT(PMPI_##NAME)) {                   \
    return omnio::trace::countedCall<decltype(::PMPI_##NAME)>(real_##NAME, "PMPI_" #NAME, \
                                                              OMNIO_NAMES_##COUNT);       \
  }
#include "trace/wrap/mpi_event.def"
#undef OMNIO_MPI_EVENT
