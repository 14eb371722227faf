// Eight threads of each rank make their first calls of MPI at the same moment: a communicator each,
// a message to themselves, and a write to a file that all of them share.
//
//   mpirun -n N c_mpi_first_use FILE
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "check.h"

enum { kThreads = 8 };

#define OK(...) CHECK((__VA_ARGS__) == MPI_SUCCESS)

static int rank, ranks;
static MPI_File file;
static MPI_Group own;

// Threads meet here by spinning: what they meet by must not order their calls.
static atomic_int arrived;
static void meet(void) {
  const int target = (atomic_fetch_add(&arrived, 1) / kThreads + 1) * kThreads;
  while (atomic_load(&arrived) < target) sched_yield();
}

static void* work(void* argument) {
  const int thread = (int)(long)argument;
  const char byte = (char)('a' + thread);
  int received = -1;
  MPI_Comm made;
  meet();
  OK(MPI_Comm_create_group(MPI_COMM_WORLD, own, thread, &made));
  meet();
  OK(MPI_Sendrecv(&thread, 1, MPI_INT, 0, 7, &received, 1, MPI_INT, 0, 7, made, MPI_STATUS_IGNORE));
  CHECK(received == thread);
  meet();
  OK(MPI_Sendrecv(&thread, 1, MPI_INT, rank, thread, &received, 1, MPI_INT, rank, thread,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(received == thread);
  meet();
  OK(MPI_File_write_at(file, (MPI_Offset)rank * kThreads + thread, &byte, 1, MPI_BYTE,
                       MPI_STATUS_IGNORE));
  meet();
  OK(MPI_Comm_free(&made));
  return NULL;
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Group world;
  pthread_t threads[kThreads];
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK(argc == 2);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  if (provided != MPI_THREAD_MULTIPLE) {
    OK(MPI_Finalize());
    return 77;
  }
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_incl(world, 1, &rank, &own));
  OK(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                   &file));
  for (long t = 0; t < kThreads; ++t) {
    CHECK(pthread_create(&threads[t], NULL, work, (void*)t) == 0);
  }
  for (int t = 0; t < kThreads; ++t) CHECK(pthread_join(threads[t], NULL) == 0);
  OK(MPI_File_close(&file));
  OK(MPI_Group_free(&own));
  OK(MPI_Group_free(&world));
  OK(MPI_Finalize());
  return 0;
}
