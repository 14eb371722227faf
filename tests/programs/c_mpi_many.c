// So many requests that one wait finds more than a record holds, under tags that are all different.
//
//   mpirun -n 2 c_mpi_many REQUESTS
#include <mpi.h>
#include <stdlib.h>

#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 2);
  const int count = atoi(argv[1]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int other = 1 - rank;
  MPI_Request* requests = calloc(2 * (size_t)count, sizeof *requests);
  int* in = calloc((size_t)count, sizeof *in);
  int* out = calloc((size_t)count, sizeof *out);
  // Once they know each other, libraries send small messages at once.
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) {
    out[i] = 7 * i + rank;
    MPI_Irecv(&in[i], 1, MPI_INT, other, i, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < count; ++i) {
    MPI_Isend(&out[i], 1, MPI_INT, other, i, MPI_COMM_WORLD, &requests[count + i]);
  }
  MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; ++i) CHECK(in[i] == 7 * i + other);
  free(requests);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
