// Two ranks that exchange messages and meet, while recording of rank 0 is stopped for some of them,
// between the begin and the end of a receive, and while a communicator is made. Each message has as
// many bytes as its number.
//
//   mpirun -n 2 c_mpi_stopped
#include <mpi.h>

#include "check.h"
#include "trace/api/omnio.h"

enum { kTurns = 12, kStop = 4, kStart = 7, kBytes = 64 };

int main(int argc, char** argv) {
  static char data[kBytes];
  int rank;
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int turn = 0; turn < kTurns; ++turn) {
    if (rank == 0 && turn == kStop) omnio_stop();
    if (rank == 0 && turn == kStart) omnio_start();
    if (rank == 0) {
      MPI_Send(data, turn + 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD);
    } else {
      MPI_Recv(data, kBytes, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (turn == kStop) MPI_Comm_dup(MPI_COMM_WORLD, &both);
    MPI_Bcast(data, turn + 1, MPI_CHAR, 0, turn < kStop ? MPI_COMM_WORLD : both);
  }
  if (rank == 1) {
    for (int turn = 0; turn < 3; ++turn) {
      MPI_Send(data, kTurns + turn, MPI_CHAR, 0, 6, MPI_COMM_WORLD);
    }
  } else {
    omnio_stop();
    MPI_Irecv(data, kBytes, MPI_CHAR, 1, 6, MPI_COMM_WORLD, &request);
    omnio_start();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(data, kBytes, MPI_CHAR, 1, 6, MPI_COMM_WORLD, &request);
    omnio_stop();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    omnio_start();
    MPI_Recv(data, kBytes, MPI_CHAR, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&both);
  MPI_Finalize();
  return 0;
}
