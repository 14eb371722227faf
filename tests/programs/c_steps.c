// A program of STEPS time steps, as those that write much less regularly than they compute. The
// first rank reads a record of steps.in and appends a line to steps.log, of which every fourth is
// longer; all ranks write a block of the shared file, each rank in a part of its own; each fourth
// step all ranks write a checkpoint, a file each. Then the first rank appends a line and
// a trailer to the shared file, and all read back their parts. The log has a line at its begin.
//
//   mpirun -n N c_steps DIRECTORY STEPS        STEPS: a multiple of four
#include <fcntl.h>
#include <mpi.h>

#include "check.h"
#include "ranks.h"

enum { kBlock = 3000, kRecord = 96, kMostPath = 4096, kPeriod = 4, kTrailer = 100 };

static char path[kMostPath];
static char block[kBlock];

static int opened(const char* directory, const char* name, int flags) {
  snprintf(path, sizeof path, "%s/%s", directory, name);
  const int fd = open(path, flags, 0644);
  CHECK(fd >= 0);
  return fd;
}

int main(int argc, char** argv) {
  int ranks = 0;
  const int rank = beginRanks(&argc, &argv, &ranks);
  CHECK(argc == 3);
  const char* directory = argv[1];
  const int steps = atoi(argv[2]);
  memset(block, 'a' + rank % 26, sizeof block);
  // Ranks follow each other, so that it is not a matter of chance who makes the file.
  if (rank > 0) MPI_Recv(NULL, 0, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const int shared = opened(directory, "shared", O_RDWR | O_CREAT);
  if (rank + 1 < ranks) MPI_Send(NULL, 0, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  int input = -1;
  FILE* log = NULL;
  if (rank == 0) {
    input = opened(directory, "steps.in", O_RDONLY);
    snprintf(path, sizeof path, "%s/steps.log", directory);
    log = fopen(path, "w");
    CHECK(log != NULL);
    CHECK(fputs("a log\n", log) >= 0);
  }
  for (int step = 0; step < steps; ++step) {
    if (rank == 0) {
      CHECK(read(input, path, kRecord) == kRecord);
      CHECK(fputs(step % kPeriod == 1 ? "a longer line of the log\n" : "a line\n", log) >= 0);
      CHECK(fflush(log) == 0);
    }
    const off_t place = ((off_t)rank * steps + step) * kBlock;
    CHECK(pwrite(shared, block, sizeof block, place) == sizeof block);
    MPI_Barrier(MPI_COMM_WORLD);
    if (step % kPeriod != kPeriod - 1) continue;
    char name[64];
    snprintf(name, sizeof name, "check.%03d.%d", step, rank);
    const int own = opened(directory, name, O_WRONLY | O_CREAT | O_TRUNC);
    for (int i = 0; i < 2 + rank; ++i) CHECK(write(own, block, sizeof block) == sizeof block);
    CHECK(fsync(own) == 0);
    CHECK(close(own) == 0);
  }
  if (rank == 0) {
    CHECK(fputs("end\n", log) >= 0);
    CHECK(fclose(log) == 0);
    CHECK(close(input) == 0);
    const off_t end = (off_t)ranks * steps * kBlock;
    CHECK(pwrite(shared, block, kTrailer, end) == kTrailer);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int step = 0; step < steps; ++step) {
    const off_t place = ((off_t)rank * steps + step) * kBlock;
    CHECK(pread(shared, block, sizeof block, place) == sizeof block);
  }
  CHECK(close(shared) == 0);
  MPI_Finalize();
  return 0;
}
