// The measured calls in each of several MPI ranks at once; see tracer.cpp, which starts it.
//
//   tracer_mpi FOLDER CALLS
//
// Rank 0 prints the means over the ranks, and how long the slowest rank was in MPI_Finalize.
#include <mpi.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/tracer_calls.hpp"
#include "bench/tracer_mpi_calls.hpp"

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  omnio::bench::Figures figures;
  omnio::bench::Figures of_mpi;
  if (argc == 3) {
    figures = omnio::bench::measureCalls(argv[1], atol(argv[2]), 1);
    of_mpi = omnio::bench::measureMpiCalls(argv[1], atol(argv[2]));
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
  if (rank == 0 && failed == 0) omnio::bench::printFigures(figures);
  return failed;
}
