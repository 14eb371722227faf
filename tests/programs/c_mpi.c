// The three ways of ranks with files: one file each, one file for all by descriptors, and one file
// for all by MPI-IO (independent and collective). With a second argument rank 1 dies in that way
// after the first two, when all ranks have finished them, while the others wait.
//
//   mpirun -n N c_mpi DIRECTORY [kill|segv|abort|exit]
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>

#include "check.h"

enum { kBlock = 4096, kBlocks = 32 };

static int rank, ranks;
static char block[kBlock];

static off_t blockOffset(int turn) { return ((off_t)turn * ranks + rank) * kBlock; }

static void fileEach(const char* directory) {
  char name[32];
  snprintf(name, sizeof name, "each.%d", rank);
  PATH(path, directory, name);
  int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0644);
  CHECK(fd >= 0);
  for (int turn = 0; turn < kBlocks; ++turn) CHECK(write(fd, block, kBlock) == kBlock);
  CHECK(fsync(fd) == 0 && lseek(fd, 0, SEEK_SET) == 0);
  for (int turn = 0; turn <= kBlocks; ++turn) {
    CHECK(read(fd, block, kBlock) == (turn < kBlocks ? kBlock : 0));
  }
  CHECK(close(fd) == 0);
}

static void fileForAll(const char* directory) {
  PATH(path, directory, "shared");
  int fd = open(path, O_CREAT | O_RDWR, 0644);
  CHECK(fd >= 0);
  for (int turn = 0; turn < kBlocks; ++turn) {
    CHECK(pwrite(fd, block, kBlock, blockOffset(turn)) == kBlock);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  char other = 0;
  CHECK(pread(fd, &other, 1, (off_t)((rank + 1) % ranks) * kBlock) == 1);
  CHECK(other == 'a' + (rank + 1) % ranks);
  CHECK(close(fd) == 0);
}

static void fileByMpiIo(const char* directory, int collective) {
  PATH(path, directory, collective ? "mpiio.collective" : "mpiio.independent");
  MPI_File file;
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS);
  for (int turn = 0; turn < kBlocks; ++turn) {
    int result = collective ? MPI_File_write_at_all(file, blockOffset(turn), block, kBlock,
                                                    MPI_CHAR, MPI_STATUS_IGNORE)
                            : MPI_File_write_at(file, blockOffset(turn), block, kBlock, MPI_CHAR,
                                                MPI_STATUS_IGNORE);
    CHECK(result == MPI_SUCCESS);
  }
  CHECK(MPI_File_sync(file) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  char other[8] = {0};
  MPI_Offset offset = (MPI_Offset)((rank + 1) % ranks) * kBlock;
  CHECK(MPI_File_read_at_all(file, offset, other, 8, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(other[7] == 'a' + (rank + 1) % ranks);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

static void die(const char* way) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    if (strcmp(way, "kill") == 0) raise(SIGKILL);
    if (strcmp(way, "segv") == 0) raise(SIGSEGV);
    if (strcmp(way, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    _exit(8);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // for ever: the launcher ends the others
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 2 || argc > 3) return fprintf(stderr, "usage: c_mpi DIRECTORY [WAY]\n"), 2;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  memset(block, 'a' + rank, kBlock);
  fileEach(argv[1]);
  fileForAll(argv[1]);
  if (argc == 3) die(argv[2]);
  fileByMpiIo(argv[1], 0);
  fileByMpiIo(argv[1], 1);
  MPI_Finalize();
  return 0;
}
