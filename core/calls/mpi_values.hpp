// Numbers of MPI that traces hold, so that readers need no mpi.h. The tracer asserts that the MPI
// it is built with has the same.
#pragma once

#include <cstdint>

namespace omnio::calls {

// Bits of MPI_File_open's amode (MPI-3.1, section 13.2.1); Open MPI and MPICH agree on them.
inline constexpr std::int64_t kModeCreate = 1;
inline constexpr std::int64_t kModeReadOnly = 2;
inline constexpr std::int64_t kModeWriteOnly = 4;
inline constexpr std::int64_t kModeReadWrite = 8;
inline constexpr std::int64_t kModeDeleteOnClose = 16;
inline constexpr std::int64_t kModeUniqueOpen = 32;
inline constexpr std::int64_t kModeExclusive = 64;
inline constexpr std::int64_t kModeAppend = 128;
inline constexpr std::int64_t kModeSequential = 256;

// Ranks and tags that are none (MPI-3.1, sections 3.2.4 and 3.11), by Open MPI's numbers.
inline constexpr std::int64_t kAnySource = -1;
inline constexpr std::int64_t kAnyTag = -1;
inline constexpr std::int64_t kProcNull = -2;

}  // namespace omnio::calls
