// Rank 0 has more messages of different tags than are counted; then communicators are made of it
// and of ranks that had none, by calls that not all make.
//
//   mpirun -n 3 c_mpi_tags MESSAGES
#include <mpi.h>
#include <stdlib.h>

#include "check.h"
#include "trace/api/omnio.h"

static int rank;

static void exchange(MPI_Comm communicator, int peer) {
  char out = 1, in = 0;
  MPI_Sendrecv(&out, 1, MPI_CHAR, peer, 1, &in, 1, MPI_CHAR, peer, 1, communicator,
               MPI_STATUS_IGNORE);
  CHECK(in == 1);
  MPI_Barrier(communicator);
  MPI_Comm_free(&communicator);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 2);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    omnio_stop();  // they count all the same
    for (int tag = 0; tag < atoi(argv[1]); ++tag) {
      MPI_Sendrecv(NULL, 0, MPI_CHAR, 0, tag, NULL, 0, MPI_CHAR, 0, tag, MPI_COMM_SELF,
                   MPI_STATUS_IGNORE);
    }
    omnio_start();
  }
  const int members[2] = {0, 2};
  MPI_Group all, some;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 2, members, &some);
  for (int turn = 0; turn < 2 && rank != 1; ++turn) {
    MPI_Comm made;
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 7, &made);
    exchange(made, rank == 0 ? 1 : 0);
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 2 - rank, 8, &made);
    exchange(made, 0);
  }
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  MPI_Finalize();
  return 0;
}
