// A regular program of TURNS turns. In each turn a rank writes its block of a shared file, and a
// file of its own; it exchanges a byte with its neighbours, and all meet in a barrier.
//
//   c_mpi_turns DIR TURNS [WRITES]     WRITES: of a file of a rank and turn, 3 if not given
#include <fcntl.h>
#include <mpi.h>

#include "check.h"
#include "ranks.h"

enum { kBlock = 4096, kMostPath = 4096, kFewArguments = 3, kWrites = 3 };

int main(int argc, char** argv) {
  int ranks = 0;
  const int rank = beginRanks(&argc, &argv, &ranks);
  CHECK(argc >= kFewArguments);
  const int turns = atoi(argv[2]);
  const int writes = argc > kFewArguments ? atoi(argv[kFewArguments]) : kWrites;
  static char block[kBlock];
  memset(block, 'a' + rank % 26, sizeof block);
  char path[kMostPath];
  snprintf(path, sizeof path, "%s/shared", argv[1]);
  // The first rank makes it: which of several would is a matter of chance.
  if (rank != 0) MPI_Barrier(MPI_COMM_WORLD);
  const int shared = open(path, rank == 0 ? O_WRONLY | O_CREAT | O_TRUNC : O_WRONLY, 0644);
  CHECK(shared >= 0);
  if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
  const int left = (rank + ranks - 1) % ranks;
  const int right = (rank + 1) % ranks;
  for (int turn = 0; turn < turns; ++turn) {
    const off_t place = ((off_t)turn * ranks + rank) * kBlock;
    CHECK(pwrite(shared, block, sizeof block, place) == sizeof block);
    snprintf(path, sizeof path, "%s/out.%05d.%d", argv[1], rank, turn * 100);
    const int own = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(own >= 0);
    for (int i = 0; i < writes; ++i) CHECK(write(own, block, sizeof block) == sizeof block);
    CHECK(close(own) == 0);
    char halo = block[0];
    MPI_Sendrecv_replace(&halo, 1, MPI_CHAR, right, 0, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK(close(shared) == 0);
  MPI_Finalize();
  return 0;
}
