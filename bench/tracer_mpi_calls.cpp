#include "bench/tracer_mpi_calls.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <type_traits>

#include "bench/by_turns.hpp"

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

// Of the library that has a function which no tracer has before it.
MpiFunctions functionsOfTheLibrary() {
  MpiFunctions functions{};
  Dl_info place{};
  if (dladdr(dlsym(RTLD_DEFAULT, "MPI_Get_version"), &place) == 0) return functions;
  void* library = dlopen(place.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return functions;
  const auto find = [library](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
  };
  find(functions.send, "PMPI_Send");
  find(functions.receive, "PMPI_Recv");
  find(functions.barrier, "PMPI_Barrier");
  find(functions.write, "PMPI_File_write_at");
  return functions;
}

// Nanoseconds there and back; of ranks 0 and 1, 0 of others.
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

}  // namespace

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

}  // namespace omnio::bench
