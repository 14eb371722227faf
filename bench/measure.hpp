// The tools of the benchmarks: times by turns, medians, child processes with and without the
// tracer. And the calls whose cost is measured, made by a child process that does nothing else.
#pragma once

#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace omnio::bench {

// CPU time, of this thread or with CLOCK_PROCESS_CPUTIME_ID of the process.
inline double cpuNs(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// A symbol of a library, which becomes a pointer to whatever function it is assigned to; a null
// pointer where the library has none of the name.
struct Symbol {
  void* place;
  template <typename Function>
  operator Function*() const {
    return reinterpret_cast<Function*>(place);
  }
};
struct Library {
  void* handle;
  Symbol operator[](const char* name) const { return {dlsym(handle, name)}; }
};

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
// when it is written, at many microseconds each that belong to no call measured here. So as much as
// a log takes is used and freed before each measurement.
void warmMemory();

// Makes `calls` of each kind, and as many of the C library's own function by turns, on files of its
// own below `folder`, in each of `threads` threads at once; of several threads the mean. Empty when
// a call failed.
Figures measureCalls(const std::filesystem::path& folder, long calls, int threads);

// Makes `calls` calls of pwrite and nothing besides.
bool makeWrites(const std::filesystem::path& folder, long calls);

// As the parent reads them: a line each, NAME=VALUE.
void printFigures(const Figures& figures);

inline constexpr long kBlockCalls = 20000;  // a full chunk is handed over in each; milliseconds
inline constexpr long kWarmUpBlocks = 5;    // before those that count: memory and caches settle

// Makes one block of calls and returns the nanoseconds that each took. `call` gets the number of
// the call, from `first` on.
template <typename Call>
double blockCost(long first, Call call) {
  const double before = cpuNs();
  for (long i = first; i < first + kBlockCalls; ++i) call(i);
  return (cpuNs() - before) / static_cast<double>(kBlockCalls);
}

// Makes `calls` of them each way, in blocks by turns: what slows the machine down slows down both
// neighbours. The medians of what a call takes and of what it takes more than the library's.
template <typename Functions>
class ByTurns {
 public:
  // `bound` are those that a program calls, the tracer's when it is preloaded; `direct` the
  // library's own.
  ByTurns(long calls, const Functions& bound, const Functions& direct)
      : blocks_(std::max(1L, calls / kBlockCalls)), bound_(bound), direct_(direct) {}

  // call(functions, number)
  template <typename Call>
  void measure(const char* name, Figures& figures, Call call) const {
    warmMemory();
    std::vector<double> costs;
    std::vector<double> differences;
    for (long block = -kWarmUpBlocks; block < blocks_; ++block) {
      std::array<double, 2> way{};
      for (const long turn : {0L, 1L}) {
        const auto which = static_cast<std::size_t>((block + turn) & 1);  // who is first, by turns
        const Functions& functions = which == 0 ? bound_ : direct_;
        way[which] = blockCost((2 * (kWarmUpBlocks + block) + turn) * kBlockCalls,
                               [&](long i) { call(functions, i); });
      }
      if (block < 0) continue;
      costs.push_back(way[0]);
      differences.push_back(way[0] - way[1]);
    }
    figures[name] = median(std::move(costs));
    figures[addedBy(name)] = median(std::move(differences));
  }

  long blocks() const { return blocks_; }

 private:
  const long blocks_;
  const Functions bound_;
  const Functions direct_;
};

struct ChildRun {
  Figures figures;    // that it printed
  double cpu_ns = 0;  // user and system time of the process and its children
  double wall_ns = 0;
  double peak_kib = 0;  // the most memory at one time
};

// Runs `command`; with a `library` it is preloaded and writes its trace to `trace`, without one
// nothing is. Nothing when the command failed.
std::optional<ChildRun> runChild(const std::vector<std::string>& command,
                                 const std::filesystem::path& library,
                                 const std::filesystem::path& trace);

}  // namespace omnio::bench
