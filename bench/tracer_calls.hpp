// The calls whose cost is measured, made by a child process that does nothing else.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace omnio::bench {

inline constexpr std::array kCalls = {"pwrite 8 B", "pread 8 B", "lseek", "write 4 KiB",
                                      "fwrite 64 B"};
// Two calls in the first: a message that is sent and received.
inline constexpr std::array kMpiCalls = {"MPI_Send and MPI_Recv", "MPI_Barrier",
                                         "MPI_File_write_at 8 B"};
inline constexpr const char* kPingPong = "ping-pong";
inline constexpr const char* kFloor = "floor";

// Name to thread-CPU nanoseconds a call.
using Figures = std::map<std::string, double>;

double median(std::vector<double> values);

// The name under which stands what a call costs more than the C library's own function.
std::string addedBy(const std::string& call);

// A virtual machine may have given free memory back to its host, and gets it again page by page
// when it is written, at many microseconds each that are nobody's here. So as much as a log takes
// is used and freed before each measurement.
void warmMemory();

// Makes `calls` of each kind, and as many of the C library's own function by turns, on files of its
// own below `folder`, in each of `threads` threads at once; of several threads the mean. Empty when
// a call failed.
Figures measureCalls(const std::filesystem::path& folder, long calls, int threads);

// Makes `calls` calls of pwrite and nothing besides.
bool makeWrites(const std::filesystem::path& folder, long calls);

// As the parent reads them: a line each, NAME=VALUE.
void printFigures(const Figures& figures);

}  // namespace omnio::bench
