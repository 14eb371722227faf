// MPI_THREAD_MULTIPLE: four threads a rank, each with a communicator of its own, that communicate,
// write files by POSIX and by streams, and write one file a communicator by MPI-IO, all at once.
//
//   mpirun -n N c_mpi_threads DIRECTORY
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>

#include "check.h"

enum { kThreads = 4, kTurns = 50, kBlock = 512 };

static int rank, ranks;
static const char* directory;
static MPI_Comm communicators[kThreads];

static int passRound(MPI_Comm comm, int value) {
  int received = -1;
  CHECK(MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % ranks, 7, &received, 1, MPI_INT,
                     (rank + ranks - 1) % ranks, 7, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  return received;
}

static void* work(void* argument) {
  const int thread = (int)(long)argument;
  const MPI_Comm comm = communicators[thread];
  char name[64];
  snprintf(name, sizeof name, "posix.%d.%d", rank, thread);
  PATH(posix, directory, name);
  snprintf(name, sizeof name, "stream.%d.%d", rank, thread);
  PATH(stream, directory, name);
  snprintf(name, sizeof name, "mpiio.%d", thread);
  PATH(shared, directory, name);

  int fd = open(posix, O_CREAT | O_TRUNC | O_RDWR, 0644);
  FILE* file = fopen(stream, "w");
  MPI_File all;
  CHECK(fd >= 0 && file != NULL);
  CHECK(MPI_File_open(comm, shared, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &all) ==
        MPI_SUCCESS);
  char block[kBlock];
  for (int turn = 0; turn < kTurns; ++turn) {
    const int received = passRound(comm, turn * 100 + rank * 10 + thread);
    CHECK(received == turn * 100 + (rank + ranks - 1) % ranks * 10 + thread);
    int sum = 0;
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(sum == ranks * (ranks - 1) / 2);
    memset(block, 'a' + received % 26, sizeof block);
    CHECK(pwrite(fd, block, kBlock, (off_t)turn * kBlock) == kBlock);
    CHECK(fprintf(file, "%d %d\n", turn, received) > 0);
    CHECK(MPI_File_write_at(all, ((MPI_Offset)turn * ranks + rank) * kBlock, block, kBlock,
                            MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
  char back[kBlock];
  CHECK(pread(fd, back, kBlock, (off_t)(kTurns - 1) * kBlock) == kBlock);
  CHECK(memcmp(back, block, kBlock) == 0);
  CHECK(close(fd) == 0 && fclose(file) == 0);
  CHECK(MPI_File_close(&all) == MPI_SUCCESS);
  return NULL;
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (argc != 2 || provided != MPI_THREAD_MULTIPLE) {
    fprintf(stderr, "usage: c_mpi_threads DIRECTORY, with an MPI that gives MPI_THREAD_MULTIPLE\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  directory = argv[1];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  pthread_t threads[kThreads];
  for (int t = 0; t < kThreads; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &communicators[t]);
  for (long t = 0; t < kThreads; ++t) {
    CHECK(pthread_create(&threads[t], NULL, work, (void*)t) == 0);
  }
  for (int t = 0; t < kThreads; ++t) CHECK(pthread_join(threads[t], NULL) == 0);
  for (int t = 0; t < kThreads; ++t) MPI_Comm_free(&communicators[t]);
  MPI_Finalize();
  return 0;
}
