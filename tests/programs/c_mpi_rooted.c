// In each of TURNS turns a rank writes a block to a file of its own, and the last rank gathers from
// all: that one cannot go on before the others have written, and these do not wait for each other.
//
//   c_mpi_rooted DIR TURNS
#include <fcntl.h>
#include <mpi.h>

#include "check.h"
#include "ranks.h"

// With a gathered block of this size a member stays until the root has come.
enum { kBlock = 4096, kGathered = 65536, kMostPath = 4096, kArguments = 3 };

int main(int argc, char** argv) {
  int ranks = 0;
  const int rank = beginRanks(&argc, &argv, &ranks);
  CHECK(argc == kArguments);
  const int turns = atoi(argv[2]);
  const int root = ranks - 1;
  static char block[kGathered];
  memset(block, 'a' + rank % 26, sizeof block);
  char* const all = rank == root ? malloc((size_t)ranks * kGathered) : NULL;
  CHECK(rank != root || all != NULL);
  char path[kMostPath];
  snprintf(path, sizeof path, "%s/out.%05d", argv[1], rank);
  const int own = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  CHECK(own >= 0);
  for (int turn = 0; turn < turns; ++turn) {
    CHECK(pwrite(own, block, kBlock, (off_t)turn * kBlock) == kBlock);
    MPI_Gather(block, kGathered, MPI_CHAR, all, kGathered, MPI_CHAR, root, MPI_COMM_WORLD);
  }
  CHECK(pwrite(own, block, kBlock, (off_t)turns * kBlock) == kBlock);
  CHECK(close(own) == 0);
  free(all);
  MPI_Finalize();
  return 0;
}
