// Writes and reads a file by the pointer that all ranks share, each rank when it comes to it: after
// pauses, and in sizes, that differ from rank to rank. Before, rank 0 opens the file by itself and
// writes a header: its opens of the file are not those of the others, one by one.
//
//   mpirun -n N c_mpi_shared FILE
#include <mpi.h>
#include <time.h>

#include "check.h"

#define MPI(call) CHECK((call) == MPI_SUCCESS)

enum { kCalls = 20, kMost = 8000 };

static unsigned state;

// The same numbers in each run.
static unsigned below(unsigned most) {
  state = state * 1103515245 + 12345;
  return (state >> 16) % most;
}

static void pauseAWhile(void) {
  const struct timespec time = {0, (long)below(2000) * 1000};
  nanosleep(&time, NULL);
}

int main(int argc, char** argv) {
  MPI(MPI_Init(&argc, &argv));
  CHECK(argc == 2);
  int rank = 0;
  MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  state = (unsigned)rank + 1;
  static char data[kMost];
  memset(data, 'a' + rank % 26, sizeof data);
  MPI_File file;
  if (rank == 0) {
    MPI(MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &file));
    MPI(MPI_File_write(file, data, kMost, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI(MPI_File_close(&file));
  }
  MPI(MPI_Barrier(MPI_COMM_WORLD));
  MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                    &file));
  // The pointer is there before several ranks come to it.
  MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  for (int i = 0; i < kCalls; ++i) {
    pauseAWhile();
    MPI(MPI_File_write_shared(file, data, (int)(1000 * (1 + below(8))), MPI_BYTE,
                              MPI_STATUS_IGNORE));
  }
  MPI(MPI_Barrier(MPI_COMM_WORLD));
  MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  MPI(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < kCalls / 2; ++i) {
    pauseAWhile();
    MPI(MPI_File_read_shared(file, data, (int)(1000 * (1 + below(8))), MPI_BYTE,
                             MPI_STATUS_IGNORE));
  }
  MPI(MPI_File_close(&file));
  MPI(MPI_Finalize());
  return 0;
}
