// Each rank begins eight nonblocking writes of 16 KiB to its part of pending.dat, then waits for
// all of them; then the same with reads, in the directory that is given.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWrites = 8, kBytes = 16384 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char path[4096];
  snprintf(path, sizeof path, "%s/pending.dat", argc > 1 ? argv[1] : ".");
  char* const memory = malloc(kWrites * kBytes);
  memset(memory, 'a' + rank, kWrites * kBytes);
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
      MPI_SUCCESS) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Request requests[kWrites];
  for (int reads = 0; reads < 2; ++reads) {
    for (int i = 0; i < kWrites; ++i) {
      const MPI_Offset at = ((MPI_Offset)rank * kWrites + i) * kBytes;
      char* const part = memory + (size_t)i * kBytes;
      if (reads) {
        MPI_File_iread_at(file, at, part, kBytes, MPI_BYTE, &requests[i]);
      } else {
        MPI_File_iwrite_at(file, at, part, kBytes, MPI_BYTE, &requests[i]);
      }
    }
    MPI_Waitall(kWrites, requests, MPI_STATUSES_IGNORE);
  }
  MPI_File_close(&file);
  free(memory);
  MPI_Finalize();
  return 0;
}
