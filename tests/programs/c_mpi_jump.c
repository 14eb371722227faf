// An error handler that jumps out of the MPI call it was called by. What is called afterwards, from
// deeper on the stack than the call that was left, is the application's own.
//
//   mpirun -n 1 c_mpi_jump FILE
#include <fcntl.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"

static jmp_buf place;

static void leave(MPI_Comm* communicator, int* error, ...) {
  (void)communicator;
  longjmp(place, *error);
}

static void fail(int (*call)(void)) {
  if (setjmp(place) == 0) {
    call();
    CHECK(0 && "the call did not fail");
  }
}

static int sendToNobody(void) {
  int value = 0;
  return MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
}

static MPI_File file;

static void leaveFile(MPI_File* failed, int* error, ...) {
  (void)failed;
  longjmp(place, *error);
}

static int readNothing(void) {
  return MPI_File_read_at(file, 0, NULL, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE);
}

static __attribute__((noinline)) void deeper(int levels, const char* path) {
  volatile char room[4096];
  room[0] = room[4095] = 0;
  if (levels > 0) {
    deeper(levels - 1, path);
    return;
  }
  CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
  const int fd = open(path, O_WRONLY | O_APPEND);
  CHECK(fd >= 0 && write(fd, "after", 5) == 5 && close(fd) == 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 2);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(leave, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  CHECK(MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS);
  MPI_Errhandler file_handler;
  MPI_File_create_errhandler(leaveFile, &file_handler);
  MPI_File_set_errhandler(file, file_handler);
  fail(sendToNobody);
  deeper(3, argv[1]);
  fail(readNothing);
  deeper(5, argv[1]);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  MPI_Finalize();
  return 0;
}
