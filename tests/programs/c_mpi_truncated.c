// Messages that are longer than the buffers they are received in: each is an error, and gone from
// its stream all the same.
//
//   mpirun -n 2 c_mpi_truncated
#include <mpi.h>
#include <stdint.h>

#include "check.h"

static int rank;

// The class of an error, as the standard names it: a library may say more in the number.
static int classOf(int error) {
  int class = MPI_SUCCESS;
  MPI_Error_class(error, &class);
  return class;
}

static void sendBoth(void) {
  int64_t longer = 1;
  int32_t shorter = 2;
  CHECK(MPI_Send(&longer, 8, MPI_BYTE, 1, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
  CHECK(MPI_Send(&shorter, 4, MPI_BYTE, 1, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void receiveBoth(void) {
  int32_t room = 0;
  CHECK(classOf(MPI_Recv(&room, 4, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) ==
        MPI_ERR_TRUNCATE);
  CHECK(MPI_Recv(&room, 4, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(room == 2);
}

static void waitForEach(void) {
  MPI_Request request;
  int32_t room = 0;
  CHECK(MPI_Irecv(&room, 4, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
  CHECK(classOf(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
  CHECK(MPI_Irecv(&room, 4, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && room == 2);
}

static void waitForAll(void) {
  MPI_Request requests[2];
  int32_t room[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    CHECK(MPI_Irecv(&room[i], 4, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &requests[i]) == MPI_SUCCESS);
  }
  // Some libraries leave the rest pending.
  const int error = classOf(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(error == MPI_ERR_IN_STATUS || error == MPI_ERR_TRUNCATE);
  CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  CHECK(room[1] == 2);
}

// Tests and MPI_Waitany: what they find in error is found all the same.
static void findEach(void) {
  int32_t room = 0;
  int flag = 0, index = -1, error = MPI_SUCCESS;
  MPI_Request request;
  for (int way = 0; way < 3; ++way) {
    CHECK(MPI_Irecv(&room, 4, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    for (flag = 0; flag == 0 && error == MPI_SUCCESS;) {
      if (way == 0) error = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      if (way == 1) error = MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
      if (way == 2) error = MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
    }
    CHECK(classOf(error) == MPI_ERR_TRUNCATE);
    error = MPI_SUCCESS;
    CHECK(MPI_Irecv(&room, 4, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && room == 2);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  static void (*const receives[])(void) = {receiveBoth, waitForEach, waitForAll, findEach,
                                           receiveBoth};
  for (int i = 0; i < 5; ++i) {
    const int pairs = receives[i] == findEach ? 3 : 1;
    for (int pair = 0; rank == 0 && pair < pairs; ++pair) sendBoth();
    if (rank == 1) receives[i]();
    // Nothing of one turn is under way in the next.
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
  }
  MPI_Finalize();
  return 0;
}
