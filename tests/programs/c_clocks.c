// Two ranks that send a message to and fro, with pauses: rank 0's, and the answer to it. How many
// there were is known, and every message is received after it was sent.
//
//   c_clocks SECONDS PAUSE_MS
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
    fprintf(stderr, "usage: %s SECONDS PAUSE_MS\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const double seconds = atof(argv[1]);
  const long pause_ms = atol(argv[2]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double begin = MPI_Wtime();
  int go_on = 1;
  while (go_on) {
    if (rank == 0) {
      go_on = MPI_Wtime() - begin < seconds;
      pauseMs(pause_ms);
      MPI_Send(&go_on, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
      MPI_Recv(&go_on, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Recv(&go_on, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&go_on, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    } else {
      go_on = 0;
    }
  }
  MPI_Finalize();
  return 0;
}
