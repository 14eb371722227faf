// Classes of MPI's errors (MPI-3.1, sections 8.4 and 13.7). Their numbers are each
// library's own. Schedules have them by name, and in memory they have Open MPI's numbers, whichever
// library the application used.
#pragma once

#include <cstdint>

namespace omnio::calls {

// X(name without MPI_ERR_, Open MPI's number, MPICH's number). The replayer asserts that the MPI it
// is built with has the same.
// clang-format off
#define OMNIO_MPI_ERRORS(X) \
  X(BUFFER, 1, 1)                                                                                \
  X(COUNT, 2, 2)                                                                                 \
  X(TYPE, 3, 3)                                                                                  \
  X(TAG, 4, 4)                                                                                   \
  X(COMM, 5, 5)                                                                                  \
  X(RANK, 6, 6)                                                                                  \
  X(REQUEST, 7, 19)                                                                              \
  X(ROOT, 8, 7)                                                                                  \
  X(GROUP, 9, 8)                                                                                 \
  X(OP, 10, 9)                                                                                   \
  X(TOPOLOGY, 11, 10)                                                                            \
  X(DIMS, 12, 11)                                                                                \
  X(ARG, 13, 12)                                                                                 \
  X(UNKNOWN, 14, 13)                                                                             \
  X(TRUNCATE, 15, 14)                                                                            \
  X(OTHER, 16, 15)                                                                               \
  X(INTERN, 17, 16)                                                                              \
  X(IN_STATUS, 18, 17)                                                                           \
  X(PENDING, 19, 18)                                                                             \
  X(ACCESS, 20, 20)                                                                              \
  X(AMODE, 21, 21)                                                                               \
  X(ASSERT, 22, 53)                                                                              \
  X(BAD_FILE, 23, 22)                                                                            \
  X(BASE, 24, 46)                                                                                \
  X(CONVERSION, 25, 23)                                                                          \
  X(DISP, 26, 52)                                                                                \
  X(DUP_DATAREP, 27, 24)                                                                         \
  X(FILE_EXISTS, 28, 25)                                                                         \
  X(FILE_IN_USE, 29, 26)                                                                         \
  X(FILE, 30, 27)                                                                                \
  X(INFO_KEY, 31, 29)                                                                            \
  X(INFO_NOKEY, 32, 31)                                                                          \
  X(INFO_VALUE, 33, 30)                                                                          \
  X(INFO, 34, 28)                                                                                \
  X(IO, 35, 32)                                                                                  \
  X(KEYVAL, 36, 48)                                                                              \
  X(LOCKTYPE, 37, 47)                                                                            \
  X(NAME, 38, 33)                                                                                \
  X(NO_MEM, 39, 34)                                                                              \
  X(NOT_SAME, 40, 35)                                                                            \
  X(NO_SPACE, 41, 36)                                                                            \
  X(NO_SUCH_FILE, 42, 37)                                                                        \
  X(PORT, 43, 38)                                                                                \
  X(QUOTA, 44, 39)                                                                               \
  X(READ_ONLY, 45, 40)                                                                           \
  X(RMA_CONFLICT, 46, 49)                                                                        \
  X(RMA_SYNC, 47, 50)                                                                            \
  X(SERVICE, 48, 41)                                                                             \
  X(SIZE, 49, 51)                                                                                \
  X(SPAWN, 50, 42)                                                                               \
  X(UNSUPPORTED_DATAREP, 51, 43)                                                                 \
  X(UNSUPPORTED_OPERATION, 52, 44)                                                               \
  X(WIN, 53, 45)                                                                                 \
  X(RMA_RANGE, 68, 55)                                                                           \
  X(RMA_ATTACH, 69, 56)                                                                          \
  X(RMA_FLAVOR, 70, 58)                                                                          \
  X(RMA_SHARED, 71, 57)
// clang-format on

struct MpiError {
  const char* name;  // with MPI_ERR_
  std::int64_t open_mpi;
  std::int64_t mpich;
};

#define OMNIO_MPI_ERROR_ROW(NAME, OPEN_MPI, MPICH) {"MPI_ERR_" #NAME, OPEN_MPI, MPICH},
inline constexpr MpiError kMpiErrors[] = {OMNIO_MPI_ERRORS(OMNIO_MPI_ERROR_ROW)};
#undef OMNIO_MPI_ERROR_ROW

// The class of an error that a call returned, in Open MPI's numbers. Open MPI returns the class.
// MPICH returns it in the lowest 7 bits; the higher bits say more about the error.
constexpr std::int64_t mpiErrorClass(std::int64_t code) {
  constexpr std::int64_t kClassBits = 0x7f;
  if (code >= 0 && code <= kClassBits) return code;
  for (const MpiError& error : kMpiErrors) {
    if (error.mpich == (code & kClassBits)) return error.open_mpi;
  }
  return code;
}

}  // namespace omnio::calls
