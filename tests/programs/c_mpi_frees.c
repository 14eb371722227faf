// Callbacks act inside another MPI call, out of sight: communicators that are made and
// freed, requests that are waited for; and calls that fail: of communicators that are there
// afterwards, and of windows that are none. Messages say by their tags what they are about.
//
//   mpirun -n 2 c_mpi_frees TURNS
#include <mpi.h>
#include <stdlib.h>

#include "check.h"

enum { kKnown = 1, kMadeInside = 2, kStillThere = 3, kFoundInside = 4, kSentInside = 5 };

static int rank;

static void exchange(MPI_Comm communicator, int tag) {
  int out = tag, in = 0;
  MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, tag, &in, 1, MPI_INT, 1 - rank, tag, communicator,
               MPI_STATUS_IGNORE);
  CHECK(in == tag);
}

// A communicator that goes with another: it is made and freed with it.
static int copyInner(MPI_Comm old, int key, void* extra, void* value, void* copy, int* flag) {
  (void)old, (void)key, (void)extra;
  MPI_Comm* inner = malloc(sizeof *inner);
  *(void**)copy = inner;
  *flag = 1;
  return MPI_Comm_dup(*(MPI_Comm*)value, inner);
}

static int freeInner(MPI_Comm old, int key, void* value, void* extra) {
  (void)old, (void)key, (void)extra;
  const int result = MPI_Comm_free(value);
  free(value);
  return result;
}

static void freeInside(int turns) {
  int key;
  MPI_Comm_create_keyval(copyInner, freeInner, &key, NULL);
  for (int turn = 0; turn < turns; ++turn) {
    MPI_Comm holder, second, own, *copy = NULL, *inner = malloc(sizeof *inner);
    int flag = 0;
    // Addresses are used again in another order in each rank.
    for (int i = 0; i < rank; ++i) MPI_Comm_dup(MPI_COMM_SELF, &own);
    MPI_Comm_dup(MPI_COMM_WORLD, inner);
    MPI_Comm_dup(MPI_COMM_WORLD, &holder);
    MPI_Comm_set_attr(holder, key, inner);
    exchange(*inner, kKnown);
    MPI_Comm_dup(holder, &second);
    MPI_Comm_get_attr(second, key, &copy, &flag);
    CHECK(flag);
    exchange(*copy, kMadeInside);
    MPI_Comm_free(&holder);
    MPI_Comm_free(&second);
  }
}

static int freeIfAllowed(MPI_Comm old, int key, void* value, void* extra) {
  (void)old, (void)key, (void)extra;
  return *(int*)value ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static void failToFree(void) {
  int key, may_free = 0;
  MPI_Comm communicator;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freeIfAllowed, &key, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // which MPICH asks
  MPI_Comm_set_attr(communicator, key, &may_free);
  CHECK(MPI_Comm_free(&communicator) != MPI_SUCCESS && communicator != MPI_COMM_NULL);
  exchange(communicator, kStillThere);
  MPI_Barrier(communicator);
  may_free = 1;
  CHECK(MPI_Comm_free(&communicator) == MPI_SUCCESS);
}

static void failToSynchronise(void) {
  MPI_Group all;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  CHECK(MPI_Win_start(all, 0, MPI_WIN_NULL) != MPI_SUCCESS);
  CHECK(MPI_Win_complete(MPI_WIN_NULL) != MPI_SUCCESS);
  MPI_Group_free(&all);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static MPI_Request expected;

// Ends what is under way, and tells the other that it does.
static void endAll(MPI_Comm* communicator, int* error, ...) {
  (void)communicator, (void)error;
  const char word = 1;
  MPI_Send(&word, 1, MPI_CHAR, 1 - rank, kSentInside, MPI_COMM_WORLD);
  MPI_Wait(&expected, MPI_STATUS_IGNORE);
}

// Two messages each; rank 0 receives the first of one and sends the first of the other inside.
static void communicateInside(void) {
  char in[2], out[2] = {1, 2};
  if (rank == 0) {
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(endAll, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Irecv(in, 1, MPI_CHAR, 1, kFoundInside, MPI_COMM_WORLD, &expected);
    CHECK(MPI_Send(out, 1, MPI_CHAR, 7, 0, MPI_COMM_SELF) != MPI_SUCCESS);
    MPI_Recv(in, 2, MPI_CHAR, 1, kFoundInside, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out, 2, MPI_CHAR, 1, kSentInside, MPI_COMM_WORLD);
  } else {
    for (int bytes = 1; bytes <= 2; ++bytes) {
      MPI_Send(out, bytes, MPI_CHAR, 0, kFoundInside, MPI_COMM_WORLD);
      MPI_Recv(in, bytes, MPI_CHAR, 0, kSentInside, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 2);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  freeInside(atoi(argv[1]));
  failToFree();
  failToSynchronise();
  communicateInside();
  MPI_Finalize();
  return 0;
}
