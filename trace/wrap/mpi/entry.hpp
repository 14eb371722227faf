// The exported symbols of MPI. A program's call arrives at one of them whichever MPI it uses, and
// goes on to the wrapper that was compiled for the binary interface of the library that is loaded;
// where there is none, to the library itself.
//
// Handles are pointers in one interface and numbers in another, so an entry takes its arguments as
// machine words: all arguments of these functions are numbers or pointers, and in the calling
// conventions of Linux on 64-bit machines each of them is in a register, or in 8 bytes of the
// stack.
#pragma once

#include <cstdint>

#include "trace/wrap/mpi/library.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {

using Word = std::uint64_t;

// A call of a library with another interface, while it is made: it counts, its I/O is one layer
// deeper, and nothing is recorded of it but the name of the library, by the first.
class PassedThrough {
 public:
  explicit PassedThrough(const char* pmpi_name);
  PassedThrough(const PassedThrough&) = delete;
  PassedThrough& operator=(const PassedThrough&) = delete;
  ~PassedThrough();

  void* symbol() const { return symbol_; }

 private:
  [[maybe_unused]] const std::uint64_t tick_;  // counted before the call is one layer deeper
  const DeeperLayer layer_;
  void* const symbol_;
};

// The first calls, while the library is not known yet, and those of a library with another
// interface. Apart, so that the others only jump: an entry sets up no frame for them.
template <typename... Words>
[[gnu::noinline, gnu::cold]] Word enterSlowly(const char* pmpi_name, Word (*open_mpi)(Words...),
                                              Word (*mpich)(Words...), Words... words) {
  const MpiAbi abi = mpiAbi();
  if (abi == MpiAbi::kOpenMpi) return open_mpi(words...);
  if (abi == MpiAbi::kMpich) return mpich(words...);
  const PassedThrough call(pmpi_name);
  return reinterpret_cast<Word (*)(Words...)>(call.symbol())(words...);
}

}  // namespace omnio::trace

#define OMNIO_WORDS_0
#define OMNIO_WORDS_1 [[maybe_unused]] omnio::trace::Word a0
#define OMNIO_WORDS_2 OMNIO_WORDS_1, [[maybe_unused]] omnio::trace::Word a1
#define OMNIO_WORDS_3 OMNIO_WORDS_2, [[maybe_unused]] omnio::trace::Word a2
#define OMNIO_WORDS_4 OMNIO_WORDS_3, [[maybe_unused]] omnio::trace::Word a3
#define OMNIO_WORDS_5 OMNIO_WORDS_4, [[maybe_unused]] omnio::trace::Word a4
#define OMNIO_WORDS_6 OMNIO_WORDS_5, [[maybe_unused]] omnio::trace::Word a5
#define OMNIO_WORDS_7 OMNIO_WORDS_6, [[maybe_unused]] omnio::trace::Word a6
#define OMNIO_WORDS_8 OMNIO_WORDS_7, [[maybe_unused]] omnio::trace::Word a7
#define OMNIO_WORDS_9 OMNIO_WORDS_8, [[maybe_unused]] omnio::trace::Word a8
#define OMNIO_WORDS_10 OMNIO_WORDS_9, [[maybe_unused]] omnio::trace::Word a9
#define OMNIO_WORDS_11 OMNIO_WORDS_10, [[maybe_unused]] omnio::trace::Word a10
#define OMNIO_WORDS_12 OMNIO_WORDS_11, [[maybe_unused]] omnio::trace::Word a11
#define OMNIO_WORDS_13 OMNIO_WORDS_12, [[maybe_unused]] omnio::trace::Word a12

// Further arguments behind another one, if there are any.
#define OMNIO_BEHIND(...) __VA_OPT__(, ) __VA_ARGS__

// The symbol of a wrapper in one interface.
#define OMNIO_IN_ABI(NAME) OMNIO_JOIN(OMNIO_JOIN(OMNIO_MPI_ABI, _), NAME)

// Exports the call: the rest is the body of its wrapper, in terms of a0, a1, ...
#define OMNIO_MPI_EXPORT(NAME, COUNT, ...)                                                  \
  extern "C" int OMNIO_IN_ABI(NAME)(OMNIO_PARAMETERS_##COUNT(NAME)) { return __VA_ARGS__; } \
  OMNIO_MPI_ENTRY(NAME, COUNT)

// The entries themselves, compiled with the first of the interfaces. mpi.h has declared NAME with
// its own types: the entry, and the wrappers that it goes on to, have names of their own in C, and
// those of the symbols for the linker.
#ifdef OMNIO_MPI_ENTRIES
#define OMNIO_MPI_ENTRY(NAME, COUNT)                                                           \
  extern "C" {                                                                                 \
  OMNIO_TO_OPEN_MPI(NAME, COUNT)                                                               \
  OMNIO_TO_MPICH(NAME, COUNT)                                                                  \
  __attribute__((visibility("default")))                                                       \
  omnio::trace::Word enter_##NAME(OMNIO_WORDS_##COUNT) __asm__(#NAME);                         \
  }                                                                                            \
  omnio::trace::Word enter_##NAME(OMNIO_WORDS_##COUNT) {                                       \
    const omnio::trace::MpiAbi abi =                                                           \
        omnio::trace::mpi_library.abi.load(std::memory_order_acquire);                         \
    if (abi == omnio::trace::MpiAbi::kOpenMpi) return to_open_mpi_##NAME(OMNIO_NAMES_##COUNT); \
    if (abi == omnio::trace::MpiAbi::kMpich) return to_mpich_##NAME(OMNIO_NAMES_##COUNT);      \
    return omnio::trace::enterSlowly(("P" #NAME) + (*#NAME == 'P'), &to_open_mpi_##NAME,       \
                                     &to_mpich_##NAME OMNIO_BEHIND(OMNIO_NAMES_##COUNT));      \
  }
#define OMNIO_BUILT(ABI, NAME, COUNT) \
  omnio::trace::Word to_##ABI##_##NAME(OMNIO_WORDS_##COUNT) __asm__(#ABI "_" #NAME);
// Of one that is not built: never called, since no library is found to have it.
#define OMNIO_NOT_BUILT(ABI, NAME, COUNT) \
  inline omnio::trace::Word to_##ABI##_##NAME(OMNIO_WORDS_##COUNT) { return 0; }
#ifdef OMNIO_HAVE_OPEN_MPI
#define OMNIO_TO_OPEN_MPI(NAME, COUNT) OMNIO_BUILT(open_mpi, NAME, COUNT)
#else
#define OMNIO_TO_OPEN_MPI(NAME, COUNT) OMNIO_NOT_BUILT(open_mpi, NAME, COUNT)
#endif
#ifdef OMNIO_HAVE_MPICH
#define OMNIO_TO_MPICH(NAME, COUNT) OMNIO_BUILT(mpich, NAME, COUNT)
#else
#define OMNIO_TO_MPICH(NAME, COUNT) OMNIO_NOT_BUILT(mpich, NAME, COUNT)
#endif
#else
#define OMNIO_MPI_ENTRY(NAME, COUNT)
#endif
