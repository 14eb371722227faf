// Collective calls that a rank leaves before the others have come: ROMIO without collective
// buffering keeps no rank. Ranks other than 0 write a file of their own between these calls, and
// rank 0 writes its own behind them, as much as all of the others together.
//
//   c_mpi_early ROUNDS              in the directory where its files go
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>

#include "check.h"

enum { kBlock = 64 * 1024, kPart = 1000 };

static char block[kBlock];

static void put(int fd, int times) {
  for (int i = 0; i < times; ++i) CHECK(write(fd, block, kBlock) == kBlock);
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  CHECK(count == 2);
  const int rounds = atoi(words[1]);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Info hints;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "romio_cb_write", "disable");
  MPI_File file;
  CHECK(MPI_File_open(MPI_COMM_WORLD, "early", MPI_MODE_CREATE | MPI_MODE_WRONLY, hints, &file) ==
        MPI_SUCCESS);
  char name[32];
  snprintf(name, sizeof name, "own.%d", rank);
  const int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
  CHECK(fd >= 0);
  for (int round = 0; round < rounds; ++round) {
    const MPI_Offset offset = ((MPI_Offset)round * ranks + rank) * kPart;
    CHECK(MPI_File_write_at_all(file, offset, block, kPart, MPI_BYTE, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    if (rank != 0) put(fd, 1);
  }
  if (rank == 0) put(fd, rounds * (ranks - 1));
  CHECK(close(fd) == 0);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  MPI_Info_free(&hints);
  MPI_Finalize();
  return 0;
}
