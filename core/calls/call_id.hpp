// The name of each row of the table in C++: CallId::pwrite64, CallId::PMPI_File_open. Code outside
// core/calls names a row in this way alone, never by its number and never by a text
// (scripts/check_calls.py).
#pragma once

#include <cstdint>

namespace omnio::calls {

// The value is the row's permanent number, which traces hold.
enum class CallId : std::uint16_t {
  none = 0,  // a place in the table without a call
#define OMNIO_CALL(BODY, NUMBER, NAME, ...) NAME = NUMBER,
#include "core/calls/posix.def"
#include "core/calls/stdio.def"
#undef OMNIO_CALL
#define OMNIO_MPI_CALL(NUMBER, NAME, ...) MPI_##NAME = NUMBER, PMPI_##NAME = (NUMBER) + 1,
#define OMNIO_MPI_MORE(NUMBER, NAME, ...) NAME = NUMBER,
#include "core/calls/mpi.def"
#undef OMNIO_MPI_MORE
#undef OMNIO_MPI_CALL
};

constexpr std::uint16_t toNumber(CallId id) { return static_cast<std::uint16_t>(id); }

// PMPI_X of MPI_X and of itself: MPI_X has the even number, PMPI_X the next.
constexpr CallId pmpiOf(CallId id) { return static_cast<CallId>(toNumber(id) | 1U); }

}  // namespace omnio::calls
