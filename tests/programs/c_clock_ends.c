// What an application could notice of clocks that are compared in MPI_Init and MPI_Finalize.
//
//   mpirun -n N c_clock_ends numbers|past|thread|leave
//
// numbers: each rank prints the Fortran number of a communicator that it makes; past: rank 1
// finalizes past every preloaded library; thread: MPI_Init_thread, with all threads allowed; leave:
// rank 1 ends by _exit at once, while the others finalize.
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>

#include "check.h"

static void finalizePast(void) {
  void* library = dlopen("libmpi.so.40", RTLD_NOLOAD | RTLD_LAZY);
  CHECK(library != NULL);
  const uintptr_t symbol = (uintptr_t)dlsym(library, "PMPI_Finalize");
  CHECK(symbol != 0);
  CHECK(((int (*)(void))symbol)() == MPI_SUCCESS);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  int rank, ranks, provided;
  if (strcmp(argv[1], "thread") == 0) {
    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
  } else {
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
  }
  CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
  CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks) == MPI_SUCCESS);
  CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
  if (strcmp(argv[1], "numbers") == 0) {
    MPI_Comm made;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &made) == MPI_SUCCESS);
    printf("rank %d: communicator %d\n", rank, (int)MPI_Comm_c2f(made));
    CHECK(MPI_Comm_free(&made) == MPI_SUCCESS);
  }
  if (strcmp(argv[1], "leave") == 0 && rank == 1) _exit(0);
  if (strcmp(argv[1], "past") == 0 && rank == 1) {
    finalizePast();
  } else {
    CHECK(MPI_Finalize() == MPI_SUCCESS);
  }
  return 0;
}
