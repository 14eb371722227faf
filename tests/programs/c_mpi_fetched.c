// Messages that a matched probe took and that are fetched a while later: a send that waits for the
// receiver waits for that.
//
//   mpirun -n 2 c_mpi_fetched
#include <mpi.h>
#include <stdint.h>
#include <unistd.h>

#include "check.h"

enum { kLarge = 4 << 20, kLate = 40000 };  // bytes; microseconds

static char data[kLarge];

static void sendBy(int way) {
  MPI_Request request;
  if (way == 0) CHECK(MPI_Ssend(data, 8, MPI_CHAR, 1, way, MPI_COMM_WORLD) == MPI_SUCCESS);
  if (way == 1) CHECK(MPI_Send(data, kLarge, MPI_CHAR, 1, way, MPI_COMM_WORLD) == MPI_SUCCESS);
  if (way == 2) {
    CHECK(MPI_Issend(data, 8, MPI_CHAR, 1, way, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
}

static void receive(int way) {
  MPI_Message message;
  MPI_Request request;
  MPI_Mprobe(0, way, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  usleep(kLate);
  if (way == 2) {
    CHECK(MPI_Imrecv(data, kLarge, MPI_CHAR, &message, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  } else {
    CHECK(MPI_Mrecv(data, kLarge, MPI_CHAR, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int way = 0; way < 3; ++way) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) sendBy(way);
    if (rank == 1) receive(way);
  }
  MPI_Finalize();
  return 0;
}
