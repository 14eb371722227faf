// The measured calls in each of several MPI ranks at once; see tracer.cpp, which starts it.
//
//   tracer_mpi FOLDER CALLS
//
// Rank 0 prints the means over the ranks, and how long the slowest rank was in MPI_Finalize.
#include <dlfcn.h>
#include <fmt/format.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <vector>

#include "bench/measure.hpp"

namespace omnio::bench {
namespace {

constexpr int kBytes = 8;
constexpr MPI_Offset kFileBytes = 1 << 20;

struct MpiFunctions {
  decltype(&::MPI_Send) send;
  decltype(&::MPI_Recv) receive;
  decltype(&::MPI_Barrier) barrier;
  decltype(&::MPI_File_write_at) write;
};

MpiFunctions boundFunctions() { return {MPI_Send, MPI_Recv, MPI_Barrier, MPI_File_write_at}; }

// The MPI library's own functions. The library is found by MPI_Get_version, which the tracer does
// not wrap.
MpiFunctions functionsOfTheLibrary() {
  Dl_info place{};
  if (dladdr(dlsym(RTLD_DEFAULT, "MPI_Get_version"), &place) == 0) return {};
  const Library library = {dlopen(place.dli_fname, RTLD_NOW | RTLD_NOLOAD)};
  if (library.handle == nullptr) return {};
  return {library["PMPI_Send"], library["PMPI_Recv"], library["PMPI_Barrier"],
          library["PMPI_File_write_at"]};
}

// Returns the nanoseconds that a message takes there and back, in ranks 0 and 1; 0 in others.
double pingPong(long turns) {
  using Clock = std::chrono::steady_clock;
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 2) return 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank > 1) return 0;
  std::vector<double> costs;
  char data[kBytes] = {};
  for (long i = 0; i < turns; ++i) {
    const auto before = Clock::now();
    if (rank == 0) MPI_Send(data, kBytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(data, kBytes, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(data, kBytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    costs.push_back(std::chrono::duration<double, std::nano>(Clock::now() - before).count());
  }
  return median(std::move(costs));
}

// Measures calls of each rank with itself, so that no rank polls for another: a message of 8 bytes
// to itself, a barrier and a file of MPI_COMM_SELF. The pwrite below the file's write is recorded
// either way, so the cost by turns is the MPI call's alone. A message there and back between
// ranks 0 and 1 is measured too, in wall time. Empty when a call failed.
Figures measureMpiCalls(const std::filesystem::path& folder, long calls) {
  const MpiFunctions direct = functionsOfTheLibrary();
  if (direct.send == nullptr || direct.receive == nullptr || direct.barrier == nullptr ||
      direct.write == nullptr) {
    return {};
  }
  const std::string path = (folder / fmt::format("mpi-{}", getpid())).native();
  MPI_File file = MPI_FILE_NULL;
  bool whole = MPI_File_open(MPI_COMM_SELF, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                             MPI_INFO_NULL, &file) == MPI_SUCCESS;
  if (!whole) return {};
  char data[kBytes] = {};
  char got[kBytes] = {};
  Figures figures;
  const ByTurns<MpiFunctions> comparison(calls, boundFunctions(), direct);
  comparison.measure(kMpiCalls[0], figures, [&](const MpiFunctions& use, long) {
    // So small a message is on its way, to itself too, before it is received.
    whole &= use.send(data, kBytes, MPI_CHAR, 0, 1, MPI_COMM_SELF) == MPI_SUCCESS;
    whole &=
        use.receive(got, kBytes, MPI_CHAR, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS;
  });
  comparison.measure(kMpiCalls[1], figures, [&](const MpiFunctions& use, long) {
    whole &= use.barrier(MPI_COMM_SELF) == MPI_SUCCESS;
  });
  comparison.measure(kMpiCalls[2], figures, [&](const MpiFunctions& use, long i) {
    whole &= use.write(file, i * kBytes % kFileBytes, data, kBytes, MPI_CHAR, MPI_STATUS_IGNORE) ==
             MPI_SUCCESS;
  });
  figures[kPingPong] = pingPong(calls / 10);
  whole &= MPI_File_close(&file) == MPI_SUCCESS;
  unlink(path.c_str());
  return whole ? figures : Figures{};
}

}  // namespace
}  // namespace omnio::bench

int main(int argc, char** argv) {
  using namespace omnio::bench;
  using Clock = std::chrono::steady_clock;
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Figures figures;
  Figures of_mpi;
  if (argc == 3) {
    figures = measureCalls(argv[1], atol(argv[2]), 1);
    of_mpi = measureMpiCalls(argv[1], atol(argv[2]));
  }
  int failed = figures.empty() || of_mpi.empty() ? 1 : 0;
  figures.merge(of_mpi);
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (failed == 0) {
    for (auto& [name, value] : figures) {
      MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      value /= ranks;
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const auto before = Clock::now();
  MPI_Finalize();
  figures["MPI_Finalize"] = std::chrono::duration<double, std::nano>(Clock::now() - before).count();
  if (rank == 0 && failed == 0) printFigures(figures);
  return failed;
}
