// Two threads of each rank write a file each, by collective calls, at the same time: each thread
// has a communicator of its own with the same ranks, as MPI asks of threads that are in collective
// calls at once.
//
//   c_mpi_thread_files              in the directory where its files go
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

#include "check.h"

enum { kThreads = 2, kSteps = 20, kBlock = 4096 };

static int rank, ranks;
static MPI_Comm comms[kThreads];

static void* writeFile(void* argument) {
  const int thread = *(int*)argument;
  static char blocks[kThreads][kBlock];
  char name[32];
  snprintf(name, sizeof name, "of-thread.%d", thread);
  MPI_File file;
  CHECK(MPI_File_open(comms[thread], name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS);
  // The one is slower than the other.
  for (int step = 0; step < kSteps * (thread + 1); ++step) {
    const MPI_Offset offset = ((MPI_Offset)step * ranks + rank) * kBlock;
    CHECK(MPI_File_write_at_all(file, offset, blocks[thread], kBlock, MPI_BYTE,
                                MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  return NULL;
}

int main(int count, char** words) {
  int provided;
  MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int numbers[kThreads];
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  }
  for (int i = 0; i < kThreads; ++i) {
    CHECK(pthread_create(&threads[i], NULL, writeFile, &numbers[i]) == 0);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  return 0;
}
