// Nonblocking MPI-IO, which Open MPI's own I/O does by aio.h: each rank writes 9 blocks of a MiB
// and reads 8 of another rank's, by MPI_Waitall or by MPI_Test again and again.
//
//   c_mpi_async wait|test
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                               \
  do {                                                                 \
    if (!(condition)) {                                                \
      fprintf(stderr, "c_mpi_async.c:%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                    \
    }                                                                  \
  } while (0)

enum { kBlock = 1 << 20, kWrites = 9, kReads = 8 };
static char blocks[kWrites][kBlock];

static void finish(MPI_Request* requests, int count, int by_test) {
  if (!by_test) {
    CHECK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    return;
  }
  for (int i = 0; i < count; ++i) {
    for (int done = 0; !done;)
      CHECK(MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  const int by_test = count > 1 && strcmp(words[1], "test") == 0;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_File file;
  CHECK(MPI_File_open(MPI_COMM_WORLD, "async", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS);
  MPI_Request requests[kWrites];
  for (int i = 0; i < kWrites; ++i) {
    memset(blocks[i], 'a' + (rank * kWrites + i) % 26, kBlock);
    const MPI_Offset at = ((MPI_Offset)rank * kWrites + i) * kBlock;
    CHECK(MPI_File_iwrite_at(file, at, blocks[i], kBlock, MPI_BYTE, &requests[i]) == MPI_SUCCESS);
  }
  finish(requests, kWrites, by_test);
  MPI_Barrier(MPI_COMM_WORLD);
  const int other = (rank + 1) % ranks;
  for (int i = 0; i < kReads; ++i) {
    const MPI_Offset at = ((MPI_Offset)other * kWrites + i) * kBlock;
    CHECK(MPI_File_iread_at(file, at, blocks[i], kBlock, MPI_BYTE, &requests[i]) == MPI_SUCCESS);
  }
  finish(requests, kReads, by_test);
  for (int i = 0; i < kReads; ++i) {
    CHECK(blocks[i][kBlock - 1] == 'a' + (other * kWrites + i) % 26);
  }
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  MPI_Finalize();
  return 0;
}
