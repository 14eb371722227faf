// Programs of more than one MPI job, and such that do not end as they should.
//
//   mpirun -n N c_mpi_ends spawn|spawn_multiple|port|abort|unfinished|exit
//
// abort: rank 1 calls MPI_Abort with 7; unfinished: no rank calls MPI_Finalize, and all end by
// `_exit`; exit: the same by `exit`.
#include <mpi.h>

#include "check.h"

#define OK(...) CHECK((__VA_ARGS__) == MPI_SUCCESS)

static int rank, ranks;
static const MPI_Comm world = MPI_COMM_WORLD;

// The two jobs meet in this way.
static void meet(MPI_Comm both) {
  int sum = 0, one = 1, size;
  OK(MPI_Barrier(both));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, both));
  OK(MPI_Comm_remote_size(both, &size));
  CHECK(sum == size);
  OK(MPI_Comm_disconnect(&both));
}

static void spawn(char* self, int multiple) {
  MPI_Comm both;
  char* arguments[] = {"spawned", NULL};
  char** lists[] = {arguments, arguments};
  char* commands[] = {self, self};
  int many[2] = {1, 1};
  MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
  if (multiple) {
    OK(MPI_Comm_spawn_multiple(2, commands, lists, many, infos, 0, world, &both,
                               MPI_ERRCODES_IGNORE));
  } else {
    OK(MPI_Comm_spawn(self, arguments, 2, MPI_INFO_NULL, 0, world, &both, MPI_ERRCODES_IGNORE));
  }
  meet(both);
}

static void port(void) {
  MPI_Comm both;
  char name[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) OK(MPI_Open_port(MPI_INFO_NULL, name));
  OK(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, world));
  if (rank == 0) OK(MPI_Comm_accept(name, MPI_INFO_NULL, 0, MPI_COMM_SELF, &both));
  if (rank == 1) OK(MPI_Comm_connect(name, MPI_INFO_NULL, 0, MPI_COMM_SELF, &both));
  if (rank < 2) meet(both);
  if (rank == 0) OK(MPI_Close_port(name));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(world, &rank));
  OK(MPI_Comm_size(world, &ranks));
  CHECK(argc == 2);
  const char* way = argv[1];
  OK(MPI_Barrier(world));
  if (strcmp(way, "spawned") == 0) {
    MPI_Comm parent;
    OK(MPI_Comm_get_parent(&parent));
    CHECK(parent != MPI_COMM_NULL);
    meet(parent);
  } else if (strcmp(way, "spawn") == 0 || strcmp(way, "spawn_multiple") == 0) {
    spawn(argv[0], strcmp(way, "spawn_multiple") == 0);
  } else if (strcmp(way, "port") == 0) {
    port();
  } else if (strcmp(way, "abort") == 0) {
    if (rank == 1) MPI_Abort(world, 7);
    MPI_Barrier(world);  // for ever
  } else if (strcmp(way, "unfinished") == 0) {
    OK(MPI_Barrier(world));
    printf("rank %d of %d\n", rank, ranks);
    fflush(stdout);
    _exit(0);
  } else if (strcmp(way, "exit") == 0) {
    OK(MPI_Barrier(world));
    exit(3);
  } else {
    CHECK(!"a known way");
  }
  OK(MPI_Barrier(world));
  OK(MPI_Finalize());
  return 0;
}
