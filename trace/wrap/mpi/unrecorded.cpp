// The calls of unrecorded.def: each goes on to the library, and the trace names the first that the
// application makes.
#include "core/wire/info.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/mpi/entry.hpp"

namespace omnio::trace {
namespace {

constexpr Word kNoSuchFunction = 16;  // an error of some class, in either interface

void noteUnrecorded(const char* name) {
  static std::atomic<bool> is_told{false};
  if (isInsideMpi(thread) || is_told.load(std::memory_order_relaxed)) return;
  if (!isActive() || !openContainer()) return;
  is_told.store(true, std::memory_order_relaxed);
  appendFact(wire::info::kMpiUnrecorded, name);
}

template <typename... Words>
Word passUnrecorded(const char* name, Word (*real)(Words...), Words... words) {
  const int errno_before = errno;
  noteUnrecorded(name);
  errno = errno_before;
  const InsideMpi inside(thread);
  return real == nullptr ? kNoSuchFunction : real(words...);
}

}  // namespace

#define OMNIO_UNRECORDED_NAME(PREFIX, NAME, COUNT)                                         \
  OMNIO_EXPORT Word PREFIX##_##NAME(OMNIO_WORDS_##COUNT) {                                 \
    static constinit LazySymbol<Word(OMNIO_WORDS_##COUNT), mpiSymbol> real("PMPI_" #NAME); \
    return passUnrecorded("MPI_" #NAME, real.get() OMNIO_BEHIND(OMNIO_NAMES_##COUNT));     \
  }
#define OMNIO_UNRECORDED(NAME, COUNT)     \
  OMNIO_UNRECORDED_NAME(MPI, NAME, COUNT) \
  OMNIO_UNRECORDED_NAME(PMPI, NAME, COUNT)
#include "trace/wrap/mpi/unrecorded.def"

}  // namespace omnio::trace
