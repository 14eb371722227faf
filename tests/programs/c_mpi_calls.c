// Every MPI call that a trace records, each a number of times of its own;
// tests/acceptance/mpi_counts.py has a profiler count them.
//
//   mpirun -n N c_mpi_calls DIRECTORY [romio]      an even N from 4
//
// romio: without MPI_File_iwrite_all and its like, in which Open MPI's ROMIO crashes by itself.
#include "c_mpi_calls.h"

int rank, ranks;
int in[kInts * 16], out[kInts * 16];

static int next_turns;
int turns(void) { return 1 + next_turns++ * 7 % 4; }

static const MPI_Comm world = MPI_COMM_WORLD;

// Even ranks send in each way, odd ones receive in each.
static void messages(void) {
  const int with = rank ^ 1, odd = rank % 2;
  static char buffer[16 * (sizeof out + MPI_BSEND_OVERHEAD)];
  MPI_Status status;
  MPI_Message message;
  MPI_Request request;
  int flag;
  OK(MPI_Buffer_attach(buffer, sizeof buffer));
#define RECEIVE() OK(MPI_Recv(out, kInts, MPI_INT, with, 1, world, &status))
  SOME if (odd) RECEIVE();
  else OK(MPI_Send(in, kInts, MPI_INT, with, 1, world));
  SOME if (odd) RECEIVE();
  else OK(MPI_Bsend(in, kInts, MPI_INT, with, 1, world));
  SOME if (odd) RECEIVE();
  else OK(MPI_Ssend(in, kInts, MPI_INT, with, 1, world));
  SOME {
    // A ready send needs its receive to be there.
    if (odd) OK(MPI_Irecv(out, kInts, MPI_INT, with, 2, world, &request));
    OK(MPI_Barrier(world));
    if (!odd) OK(MPI_Rsend(in, kInts, MPI_INT, with, 2, world));
    if (odd) OK(MPI_Wait(&request, &status));
  }
#define NONBLOCKING(CALL)                                     \
  SOME {                                                      \
    if (odd) {                                                \
      RECEIVE();                                              \
    } else {                                                  \
      OK(CALL(in, kInts, MPI_INT, with, 1, world, &request)); \
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));              \
    }                                                         \
  }
  NONBLOCKING(MPI_Isend)
  NONBLOCKING(MPI_Ibsend)
  NONBLOCKING(MPI_Issend)
  SOME {
    if (odd) OK(MPI_Irecv(out, kInts, MPI_INT, with, 2, world, &request));
    OK(MPI_Barrier(world));
    if (!odd) OK(MPI_Irsend(in, kInts, MPI_INT, with, 2, world, &request));
    OK(MPI_Wait(&request, &status));
  }
  SOME OK(MPI_Sendrecv(in, 3, MPI_INT, with, 3, out, kInts, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                       world, &status));
  SOME OK(MPI_Sendrecv_replace(in, 5, MPI_INT, with, 4, with, 4, world, &status));
  SOME {
    if (!odd) {
      for (int way = 0; way < 4; ++way) OK(MPI_Send(in, kInts, MPI_INT, with, 1, world));
      continue;
    }
    OK(MPI_Probe(with, MPI_ANY_TAG, world, &status));
    RECEIVE();
    do OK(MPI_Iprobe(MPI_ANY_SOURCE, 1, world, &flag, &status));
    while (!flag);
    RECEIVE();
    OK(MPI_Mprobe(with, 1, world, &message, &status));
    OK(MPI_Mrecv(out, kInts, MPI_INT, &message, &status));
    do OK(MPI_Improbe(with, 1, world, &flag, &message, &status));
    while (!flag);
    OK(MPI_Imrecv(out, kInts, MPI_INT, &message, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  // To no rank and from no rank.
  SOME OK(MPI_Send(in, 1, MPI_INT, MPI_PROC_NULL, 1, world));
  SOME OK(MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 1, world, &status));
  void* detached;
  OK(MPI_Buffer_detach(&detached, &flag));
}

static void requests(void) {
  const int with = rank ^ 1;
  MPI_Request pair[2];
  MPI_Status statuses[2];
  int flag, which, found[2];
#define BOTH()                                                  \
  OK(MPI_Irecv(out, kInts, MPI_INT, with, 5, world, &pair[0])); \
  OK(MPI_Isend(in, kInts, MPI_INT, with, 5, world, &pair[1]))
  SOME {
    BOTH();
    OK(MPI_Waitall(2, pair, statuses));
  }
  SOME {
    BOTH();
    for (int i = 0; i < 2; ++i) OK(MPI_Waitany(2, pair, &which, statuses));
  }
  SOME {
    BOTH();
    for (int done = 0; done < 2; done += flag) OK(MPI_Waitsome(2, pair, &flag, found, statuses));
  }
  SOME {
    BOTH();
    for (int i = 0; i < 2; ++i) {
      do OK(MPI_Test(&pair[i], &flag, statuses));
      while (!flag);
    }
  }
  SOME {
    BOTH();
    do OK(MPI_Testall(2, pair, &flag, MPI_STATUSES_IGNORE));
    while (!flag);
  }
  SOME {
    BOTH();
    for (int i = 0; i < 2; i += flag) OK(MPI_Testany(2, pair, &which, &flag, statuses));
  }
  SOME {
    BOTH();
    for (int done = 0; done < 2; done += flag) OK(MPI_Testsome(2, pair, &flag, found, statuses));
  }
  OK(MPI_Recv_init(out, kInts, MPI_INT, with, 6, world, &pair[0]));
  OK(MPI_Send_init(in, kInts, MPI_INT, with, 6, world, &pair[1]));
  SOME {
    OK(MPI_Start(&pair[0]));
    OK(MPI_Start(&pair[1]));
    OK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
  }
  SOME {
    OK(MPI_Startall(2, pair));
    OK(MPI_Waitall(2, pair, statuses));
  }
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&pair[i]));
  SOME {
    OK(MPI_Irecv(out, kInts, MPI_INT, with, 77, world, &pair[0]));  // that no rank sends
    OK(MPI_Cancel(&pair[0]));
    OK(MPI_Wait(&pair[0], statuses));
  }
}

static void collectives(void) {
  int counts[16], places[16];
  MPI_Datatype types[16];
  MPI_Request request;
  for (int i = 0; i < ranks; ++i) counts[i] = 4, places[i] = 4 * i, types[i] = MPI_INT;
  SOME OK(MPI_Barrier(world));
  SOME OK(PMPI_Barrier(world));
  SOME {
    OK(MPI_Ibarrier(world, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  SOME OK(MPI_Bcast(out, 9, MPI_INT, 1, world));
  SOME {
    OK(MPI_Ibcast(out, 9, MPI_INT, 1, world, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
#define PAIR(NAME, INAME, ...)                 \
  SOME OK(NAME(__VA_ARGS__, world));           \
  SOME {                                       \
    OK(INAME(__VA_ARGS__, world, &request));   \
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE)); \
  }
  PAIR(MPI_Reduce, MPI_Ireduce, in, out, 4, MPI_INT, MPI_SUM, 0)
  PAIR(MPI_Allreduce, MPI_Iallreduce, in, out, 4, MPI_INT, MPI_MAX)
  PAIR(MPI_Gather, MPI_Igather, in, 4, MPI_INT, out, 4, MPI_INT, 0)
  PAIR(MPI_Gatherv, MPI_Igatherv, in, 4, MPI_INT, out, counts, places, MPI_INT, 1)
  PAIR(MPI_Scatter, MPI_Iscatter, in, 4, MPI_INT, out, 4, MPI_INT, 0)
  PAIR(MPI_Scatterv, MPI_Iscatterv, in, counts, places, MPI_INT, out, 4, MPI_INT, 1)
  PAIR(MPI_Allgather, MPI_Iallgather, in, 4, MPI_INT, out, 4, MPI_INT)
  PAIR(MPI_Allgatherv, MPI_Iallgatherv, in, 4, MPI_INT, out, counts, places, MPI_INT)
  PAIR(MPI_Alltoall, MPI_Ialltoall, in, 4, MPI_INT, out, 4, MPI_INT)
  PAIR(MPI_Alltoallv, MPI_Ialltoallv, in, counts, places, MPI_INT, out, counts, places, MPI_INT)
  int bytes[16];
  for (int i = 0; i < ranks; ++i) bytes[i] = 16 * i;
  PAIR(MPI_Alltoallw, MPI_Ialltoallw, in, counts, bytes, types, out, counts, bytes, types)
  PAIR(MPI_Reduce_scatter, MPI_Ireduce_scatter, in, out, counts, MPI_INT, MPI_SUM)
  PAIR(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, in, out, 4, MPI_INT, MPI_SUM)
  PAIR(MPI_Scan, MPI_Iscan, in, out, 4, MPI_INT, MPI_SUM)
  PAIR(MPI_Exscan, MPI_Iexscan, in, out, 4, MPI_INT, MPI_SUM)
#undef PAIR
  SOME OK(MPI_Allreduce(MPI_IN_PLACE, out, 4, MPI_INT, MPI_SUM, world));
}

static void neighbourhoods(void) {
  const int periodic = 1;
  MPI_Comm ring;
  MPI_Request request;
  MPI_Aint bytes[2] = {0, 64};
  int counts[2] = {4, 4}, places[2] = {0, 16};
  MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  OK(MPI_Cart_create(world, 1, &ranks, &periodic, 0, &ring));
#define PAIR(NAME, INAME, ...)                 \
  SOME OK(NAME(__VA_ARGS__, ring));            \
  SOME {                                       \
    OK(INAME(__VA_ARGS__, ring, &request));    \
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE)); \
  }
  PAIR(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, in, 4, MPI_INT, out, 4, MPI_INT)
  PAIR(MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, in, 4, MPI_INT, out, counts, places,
       MPI_INT)
  PAIR(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, in, 4, MPI_INT, out, 4, MPI_INT)
  PAIR(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, in, counts, places, MPI_INT, out, counts,
       places, MPI_INT)
  PAIR(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, in, counts, bytes, types, out, counts,
       bytes, types)
#undef PAIR
  OK(MPI_Comm_free(&ring));
}

static void communicators(void) {
  MPI_Comm made, part, both;
  MPI_Group group, half;
  MPI_Request request;
  const int extent[2] = {ranks / 2, 2}, periodic[2] = {0, 1}, keep[2] = {0, 1};
  const int before = (rank + ranks - 1) % ranks, behind = (rank + 1) % ranks, one = 1;
  const int range[1][3] = {{0, ranks / 2 - 1, 1}};
  int index[16], edges[32];
  for (int i = 0; i < ranks; ++i) {
    index[i] = 2 * (i + 1);
    edges[2 * i] = (i + 1) % ranks, edges[2 * i + 1] = (i + ranks - 1) % ranks;
  }
  SOME {
    OK(MPI_Comm_dup(world, &made));
    OK(MPI_Comm_free(&made));
  }
  SOME {
    OK(MPI_Comm_dup_with_info(world, MPI_INFO_NULL, &made));
    OK(MPI_Comm_disconnect(&made));
  }
  SOME {
    OK(MPI_Comm_idup(world, &made, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&made));
  }
  SOME {
    OK(MPI_Comm_split(world, rank == 0 ? MPI_UNDEFINED : 1, rank, &made));
    if (rank > 0) OK(MPI_Comm_free(&made));
  }
  SOME {
    OK(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
    OK(MPI_Comm_free(&made));
  }
  OK(MPI_Comm_group(world, &group));
  OK(MPI_Group_range_incl(group, 1, (int(*)[3])range, &half));
  SOME {
    OK(MPI_Comm_create(world, half, &made));
    if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
  }
  SOME if (rank < ranks / 2) {
    OK(MPI_Comm_create_group(world, half, 3, &made));
    OK(MPI_Comm_free(&made));
  }
  SOME {
    OK(MPI_Cart_create(world, 2, extent, periodic, 0, &made));
    OK(MPI_Cart_sub(made, (int[2]){!keep[0], keep[1]}, &part));
    OK(MPI_Comm_free(&part));
    OK(MPI_Comm_free(&made));
  }
  SOME {
    OK(MPI_Graph_create(world, ranks, index, edges, 0, &made));
    OK(MPI_Comm_free(&made));
  }
  SOME {
    OK(MPI_Dist_graph_create(world, 1, &rank, &one, &behind, &one, MPI_INFO_NULL, 0, &made));
    OK(MPI_Comm_free(&made));
  }
  SOME {
    OK(MPI_Dist_graph_create_adjacent(world, 1, &before, &one, 1, &behind, &one, MPI_INFO_NULL, 0,
                                      &made));
    OK(MPI_Comm_free(&made));
  }
  SOME {
    OK(MPI_Comm_split(world, rank % 2, rank, &part));
    OK(MPI_Intercomm_create(part, 0, world, !(rank % 2), 8, &both));
    OK(MPI_Barrier(both));
    OK(MPI_Intercomm_merge(both, rank % 2, &made));
    OK(MPI_Comm_free(&made));
    OK(MPI_Comm_free(&both));
    OK(MPI_Comm_free(&part));
  }
  OK(MPI_Group_free(&half));
  OK(MPI_Group_free(&group));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(world, &rank));
  OK(MPI_Comm_size(world, &ranks));
  CHECK((argc == 2 || argc == 3) && ranks >= 4 && ranks <= 16 && ranks % 2 == 0);
  messages();
  requests();
  collectives();
  neighbourhoods();
  oneSidedCalls();
  fileCalls(argv[1], argc == 2);
  communicators();
  OK(MPI_Finalize());
  return 0;
}
