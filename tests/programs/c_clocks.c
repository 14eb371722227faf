// Ranks in a chain that pass a message along it and back ROUNDS times, with pauses of rank 0: two
// ranks, and its answer. Every message is received after it was sent. No message at all when ROUNDS
// is negative.
//
//   c_clocks ROUNDS PAUSE_MS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void pauseMs(long ms) {
  struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  nanosleep(&rest, NULL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 3) {
    fprintf(stderr, "usage: %s ROUNDS PAUSE_MS\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const long rounds = atol(argv[1]);
  const long pause_ms = atol(argv[2]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  long round = 0;
  int go_on = rounds >= 0;
  while (go_on) {
    if (rank == 0) {
      go_on = ++round < rounds;
      pauseMs(pause_ms);
    } else {
      MPI_Recv(&go_on, 1, MPI_INT, rank - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank + 1 < ranks) {
      MPI_Send(&go_on, 1, MPI_INT, rank + 1, 7, MPI_COMM_WORLD);
      MPI_Recv(&go_on, 1, MPI_INT, rank + 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank > 0) MPI_Send(&go_on, 1, MPI_INT, rank - 1, 7, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
