// The MPI calls whose cost is measured, beside what the MPI library's own functions take.
#pragma once

#include <filesystem>

#include "bench/tracer_calls.hpp"

namespace omnio::bench {

// Of each rank with itself, so that nobody polls for another: a message of 8 bytes to itself, a
// barrier and a file of MPI_COMM_SELF. The cost of the file's write by turns is that of the MPI
// call alone: the pwrite below it is recorded either way. And, in wall time, a message there and
// back between ranks 0 and 1. Empty when a call failed.
Figures measureMpiCalls(const std::filesystem::path& folder, long calls);

}  // namespace omnio::bench
