// Preloaded into an MPI program that does not time itself: rank 0 prints the time in seconds from
// the end of MPI_Init of the first rank to the beginning of MPI_Finalize of the last, as
// `mpi_span 1.5`.
#include <mpi.h>
#include <stdio.h>

static double begin;

int MPI_Init(int* count, char*** words) {
  const int result = PMPI_Init(count, words);
  begin = PMPI_Wtime();
  return result;
}

int MPI_Init_thread(int* count, char*** words, int required, int* provided) {
  const int result = PMPI_Init_thread(count, words, required, provided);
  begin = PMPI_Wtime();
  return result;
}

int MPI_Finalize(void) {
  double end = PMPI_Wtime(), first, last;
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Reduce(&begin, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  PMPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("mpi_span %.6f\n", last - first);
  return PMPI_Finalize();
}
