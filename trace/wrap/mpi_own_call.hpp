// MPI calls that the tracer makes for itself: the real functions, past its own wrappers.
#pragma once

#include <time.h>

#include "core/wire/clock.hpp"
#include "trace/runtime/raw_syscall.hpp"
#include "trace/wrap/open_mpi.hpp"

// Calls the library's own function, which is looked up once.
#define OMNIO_PMPI(NAME, ...)                                   \
  ([] {                                                         \
    static constinit std::atomic<void*> place{nullptr};         \
    return realMpi<decltype(MPI_##NAME)>(place, "PMPI_" #NAME); \
  }()(__VA_ARGS__))

namespace omnio::trace::own_call {

inline constexpr std::uint64_t kForEver = ~std::uint64_t{0};  // ns
inline constexpr std::uint64_t kSpinNs = 100'000;

using open_mpi::bytes;
using open_mpi::errorsReturn;
using open_mpi::ints;

inline std::uint64_t now() { return wire::systemNs(CLOCK_MONOTONIC); }

// Waits for a receive until then; one that nothing came for is taken back. After a while it sleeps
// between looks: where processors have more to do than ours, who sleeps gets one as soon as he
// wakes, and who spins keeps the peer from it. (The library would spin.)
inline bool arrives(MPI_Request& request, MPI_Status* status, std::uint64_t until = kForEver,
                    std::uint64_t spin_ns = kSpinNs) {
  const std::uint64_t begin = now();
  int done = 0;
  while (OMNIO_PMPI(Test, &request, &done, status) == MPI_SUCCESS && done == 0) {
    const std::uint64_t time = now();
    if (time - begin > spin_ns) {
      const timespec nap = {.tv_sec = 0, .tv_nsec = 10'000};
      rawSyscall(SYS_nanosleep, address(&nap), 0);
    }
    if (time < until) continue;
    OMNIO_PMPI(Cancel, &request);
    MPI_Status end;
    OMNIO_PMPI(Wait, &request, &end);
    if (status != MPI_STATUS_IGNORE) *status = end;
    return !isCancelled(end);
  }
  return done != 0;
}

}  // namespace omnio::trace::own_call
