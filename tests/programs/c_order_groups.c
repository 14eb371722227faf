// The cases of c_order that are of a group at a time: collectives, communicators, windows, threads.
#include <pthread.h>

#include "c_order.h"

enum { kSmall = 1024, kLargeCount = 4 << 20, kSlot = 120, kLate = 60 };

static char data[kSmall], other_data[4 * kSmall];

// No rank before rank 1, which is 200 ms late.
void late_barrier(void) {
  for (int turn = 0; turn < 3; ++turn) {
    until(400 * turn + (rank == 1 ? 200 : 0));
    together(planted(MPI(MPI_Barrier, MPI_COMM_WORLD), rank == 1 ? 0 : 200),
             nameOf("late.%d", turn), ranks, 0, ranks - 1, 1);
  }
}

// 32 MiB with no rank late: what it takes is its own.
void allreduce(void) {
  double* in = calloc(kLargeCount, sizeof *in);
  double* out = calloc(kLargeCount, sizeof *out);
  CHECK(in != NULL && out != NULL);
  memset(in, 0, kLargeCount * sizeof *in);
  memset(out, 1, kLargeCount * sizeof *out);
  for (int turn = 0; turn < 4; ++turn) {
    together(MPI(MPI_Barrier, MPI_COMM_WORLD), nameOf("before.%d", turn), ranks, 0, ranks - 1, 1);
    struct Event* event =
        MPI(MPI_Allreduce, in, out, kLargeCount, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    together(planted(event, 0), nameOf("large.%d", turn), ranks, 0, ranks - 1, 1);
  }
  free(in);
  free(out);
}

// Collectives in which not all wait for all, with the root, another, or the last one late.
void rooted(void) {
  const int all = ranks - 1;
  int value = rank, sum = 0, many[16] = {0}, turn = 0;
  MPI_Comm world = MPI_COMM_WORLD;
  for (int late = 0; late < ranks; late += all) {
    const int root = 0, mine = late == rank;
#define AT_ONCE()                                                                \
  together(MPI(MPI_Barrier, world), nameOf("ready.%d", turn), ranks, 0, all, 1); \
  until(++turn* kSlot + (mine ? kLate : 0))
    AT_ONCE();
    together(planted(MPI(MPI_Bcast, &value, 1, MPI_INT, root, world),
                     rank != root && late == root ? kLate : 0),
             nameOf("bcast.%d", late), ranks, root, root, 1);
    AT_ONCE();
    struct Event* event = MPI(MPI_Reduce, &value, &sum, 1, MPI_INT, MPI_SUM, root, world);
    if (rank == root) planted(event, late == root ? 0 : kLate);
    together(event, nameOf("reduce.%d", late), ranks, 0, rank == root ? all : -1, 1);
    AT_ONCE();
    event = MPI(MPI_Gather, &value, 1, MPI_INT, many, 1, MPI_INT, root, world);
    together(event, nameOf("gather.%d", late), ranks, 0, rank == root ? all : -1, 1);
    AT_ONCE();
    event = MPI(MPI_Scatter, many, 1, MPI_INT, &value, 1, MPI_INT, root, world);
    together(event, nameOf("scatter.%d", late), ranks, root, root, 1);
    AT_ONCE();
    event = MPI(MPI_Scan, &value, &sum, 1, MPI_INT, MPI_SUM, world);
    together(planted(event, late < rank ? kLate : 0), nameOf("scan.%d", late), ranks, 0, rank - 1,
             1);
    AT_ONCE();
    event = MPI(MPI_Alltoall, many, 1, MPI_INT, many + 8, 1, MPI_INT, world);
    together(planted(event, mine ? 0 : kLate), nameOf("alltoall.%d", late), ranks, 0, all, 1);
  }
}

// One barrier on it with its member `late` (a rank of the world) late; members from, to, step.
static void barrierOn(MPI_Comm comm, const char* name, double at, int late, int from, int to,
                      int step) {
  until(at + (rank == late ? kLate : 0));
  together(planted(MPI(MPI_Barrier, comm), rank == late ? 0 : kLate), name, (to - from) / step + 1,
           from, to, step);
}

// Communicators that overlap, made in each way, and used by turns.
void communicators(void) {
  const int all = ranks - 1;
  MPI_Comm parity, half, twin, first, again, world = MPI_COMM_WORLD;
  together(MPI(MPI_Comm_split, world, rank % 2, -rank, &parity), "split.1", -1, 0, all, 1);
  together(MPI(MPI_Comm_split, world, rank / 2, rank, &half), "split.2", -1, 0, all, 1);
  together(MPI(MPI_Comm_dup, world, &twin), "dup", -1, 0, all, 1);
  MPI_Group group, three;
  const int members[3] = {2, 0, 1};
  MPI_Comm_group(world, &group);
  MPI_Group_incl(group, 3, members, &three);
  if (rank < 3) together(MPI(MPI_Comm_create_group, world, three, 4, &first), "three", -1, 0, 2, 1);
  together(MPI(MPI_Comm_create, world, three, &again), "create", -1, 0, all, 1);
  CHECK((again != MPI_COMM_NULL) == (rank < 3));
  for (int turn = 0; turn < 2; ++turn) {
    const double at = 200 + turn * 6 * kSlot;
    barrierOn(parity, nameOf("parity.%d.%d", turn, rank % 2), at, 2 + rank % 2, rank % 2,
              all - 1 + rank % 2, 2);
    barrierOn(half, nameOf("half.%d.%d", turn, rank / 2), at + kSlot, rank / 2 * 2, rank / 2 * 2,
              rank / 2 * 2 + 1, 1);
    barrierOn(twin, nameOf("twin.%d", turn), at + 2 * kSlot, 1, 0, all, 1);
    if (rank < 3) barrierOn(first, nameOf("first.%d", turn), at + 3 * kSlot, 0, 0, 2, 1);
    if (rank < 3) barrierOn(again, nameOf("again.%d", turn), at + 4 * kSlot, 2, 0, 2, 1);
    // The ranks of a sub-communicator are not those of the world.
    until(at + 5 * kSlot + (rank < 2 ? kLate : 0));
    const int mate = (rank + 2) % 4;
    int own;
    MPI_Comm_rank(parity, &own);
    CHECK(own == (rank < 2));
    const char* name = nameOf("mate.%d.%d", turn, rank % 2);
    if (rank < 2) {
      message(MPI(MPI_Send, data, 7, MPI_CHAR, 0, 8, parity), name, mate, 8, 7);
    } else if (rank < 4) {
      received(
          planted(MPI(MPI_Recv, data, 9, MPI_CHAR, MPI_ANY_SOURCE, 8, parity, MPI_STATUS_IGNORE),
                  kLate),
          name, mate, 8, 7);
    }
  }
  together(MPI(MPI_Comm_free, &twin), "free.twin", ranks, 0, all, 1);
  together(MPI(MPI_Comm_free, &parity), nameOf("free.parity.%d", rank % 2), -1, rank % 2,
           all - 1 + rank % 2, 2);
  // The number of a communicator may be used again: this one is another.
  together(MPI(MPI_Comm_dup, half, &twin), nameOf("dup.half.%d", rank / 2), -1, rank / 2 * 2,
           rank / 2 * 2 + 1, 1);
  barrierOn(twin, nameOf("twin.half.%d", rank / 2), 200 + 13 * kSlot, rank / 2 * 2, rank / 2 * 2,
            rank / 2 * 2 + 1, 1);
  MPI_Group_free(&group);
  MPI_Group_free(&three);
}

// Neighbourhoods: of a ring, in which all are neighbours of two, and of a path in one direction.
void topologies(void) {
  MPI_Comm ring, path, world = MPI_COMM_WORLD;
  const int all = ranks - 1, periodic = 1, one = 1, before[1] = {rank - 1}, behind[1] = {rank + 1};
  together(MPI(MPI_Cart_create, world, 1, &ranks, &periodic, 0, &ring), "cart", -1, 0, all, 1);
  together(MPI(MPI_Dist_graph_create_adjacent, world, rank > 0, before, &one, rank < all, behind,
               &one, MPI_INFO_NULL, 0, &path),
           "path", -1, 0, all, 1);
  for (int late = 0; late < ranks; ++late) {
    until(200 + late * 2 * kSlot + (rank == late ? kLate : 0));
    const int sides[2] = {(rank + all) % ranks, (rank + 1) % ranks};
    struct Event* event =
        MPI(MPI_Neighbor_alltoall, data, 4, MPI_CHAR, other_data, 4, MPI_CHAR, ring);
    const int beside = sides[0] == late || sides[1] == late;
    together(planted(event, beside ? kLate : 0), nameOf("beside.%d", late), ranks, sides[0],
             sides[0], 1);
    waitsFor(&event->part[0], sides[1]);
    until(200 + (late * 2 + 1) * kSlot + (rank == late ? kLate : 0));
    event = MPI(MPI_Neighbor_allgather, data, 4, MPI_CHAR, other_data, 4, MPI_CHAR, path);
    together(planted(event, rank == late + 1 ? kLate : 0), nameOf("behind.%d", late), ranks,
             before[0], rank > 0 ? before[0] : -2, 1);
  }
}

// Even ranks on one side and odd ones on the other.
void intercommunicators(void) {
  MPI_Comm side, both, merged, world = MPI_COMM_WORLD;
  const int all = ranks - 1, odd = rank % 2;
  together(MPI(MPI_Comm_split, world, odd, rank, &side), "sides", -1, 0, all, 1);
  together(MPI(MPI_Intercomm_create, side, 0, world, !odd, 12, &both), "both", -1, 0, all, 1);
  until(200 + (rank == 2 ? kLate : 0));
  together(planted(MPI(MPI_Barrier, both), rank == 2 ? 0 : kLate), "across", -1, 0, all, 1);
  // To the rank of the same number on the other side.
  until(200 + kSlot + (odd ? 0 : kLate));
  const int own = rank / 2;
  if (odd) {
    received(planted(MPI(MPI_Recv, data, 9, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, both,
                         MPI_STATUS_IGNORE),
                     kLate),
             nameOf("over.%d", own), rank - 1, 6, 9);
  } else {
    message(MPI(MPI_Send, data, 9, MPI_CHAR, own, 6, both), nameOf("over.%d", own), rank + 1, 6, 9);
  }
  // From rank 3, which is number 1 of the odd side.
  until(200 + 2 * kSlot + (rank == 3 ? kLate : 0));
  const int root = rank == 3 ? MPI_ROOT : odd ? MPI_PROC_NULL : 1;
  struct Event* event = MPI(MPI_Bcast, data, 9, MPI_CHAR, root, both);
  together(planted(event, odd ? 0 : kLate), "from.3", -1, 3, odd ? 2 : 3, 1);
  together(MPI(MPI_Intercomm_merge, both, odd, &merged), "merge", -1, 0, all, 1);
  barrierOn(merged, "merged", 200 + 3 * kSlot, 3, 0, all, 1);
  together(MPI(MPI_Comm_free, &both), "free.both", -1, 0, all, 1);
}

// Two collectives under way at a time, completed in each way, with rank 1 late.
void nonblocking(void) {
  const int all = ranks - 1, late = rank == 1;
  int value = rank, sum = 0, flag = 0;
  MPI_Request pair[2];
  for (int way = 0; way < 3; ++way) {
    const char* one = nameOf("ibarrier.%d", way);
    const char* two = nameOf("iallreduce.%d", way);
    until(way * kSlot + (late ? kLate : 0));
    together(MPI(MPI_Ibarrier, MPI_COMM_WORLD, &pair[0]), one, ranks, 0, -1, 1);
    together(MPI(MPI_Iallreduce, &value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &pair[1]), two,
             ranks, 0, -1, 1);
    if (way == 0) {
      struct Event* event = MPI(MPI_Waitall, 2, pair, MPI_STATUSES_IGNORE);
      together(planted(event, late ? 0 : kLate), one, -1, 0, all, 1);
      together(event, two, -1, 0, all, 1);
    } else if (way == 1) {
      together(planted(MPI(MPI_Wait, &pair[1], MPI_STATUS_IGNORE), late ? 0 : kLate), two, -1, 0,
               all, 1);
      together(MPI(MPI_Wait, &pair[0], MPI_STATUS_IGNORE), one, -1, 0, all, 1);
    } else {
      struct Event* event = MPI_UNTIL(flag, MPI_Testall, 2, pair, &flag, MPI_STATUSES_IGNORE);
      together(planted(event, late ? 0 : kLate), one, -1, 0, all, 1);
      together(event, two, -1, 0, all, 1);
    }
  }
  until(3 * kSlot + (late ? kLate : 0));
  together(MPI(MPI_Ibcast, &value, 1, MPI_INT, 1, MPI_COMM_WORLD, &pair[0]), "ibcast", ranks, 0, -1,
           1);
  together(planted(MPI(MPI_Wait, &pair[0], MPI_STATUS_IGNORE), late ? 0 : kLate), "ibcast", -1, 1,
           1, 1);
}

// Fences with one late, then rank 0 opens its window to all others.
void windows(void) {
  const int all = ranks - 1;
  static int memory[16];
  MPI_Win window;
  together(MPI(MPI_Win_create, memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
               &window),
           "create", -1, 0, all, 1);
  together(MPI(MPI_Win_fence, 0, window), "fence.0", ranks, 0, all, 1);
  for (int turn = 1; turn < 3; ++turn) {
    until(200 + turn * kSlot + (rank == turn ? kLate : 0));
    MPI(MPI_Put, &rank, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, window);
    together(planted(MPI(MPI_Win_fence, 0, window), rank == turn ? 0 : kLate),
             nameOf("fence.%d", turn), ranks, 0, all, 1);
  }
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  const int zero = 0;
  if (rank == 0) {
    MPI_Group_excl(world, 1, &zero, &group);
  } else {
    MPI_Group_incl(world, 1, &zero, &group);
  }
  for (int turn = 0; turn < 2; ++turn) {
    // First the target is late with its post, then rank 1 with its access.
    const double at = 200 + (3 + turn) * kSlot;
    const int late = turn;
    until(at + (rank == late ? kLate : 0));
    if (rank == 0) {
      struct Event* event = MPI(MPI_Win_post, group, 0, window);
      newPart(event, nameOf("post.%d", turn));
      event = MPI(MPI_Win_wait, window);
      for (int other = 1; other <= all; ++other) {
        waiting(event, nameOf("done.%d.%d", turn, other), other);
      }
      if (turn == 1) planted(event, kLate);
    } else {
      waiting(MPI(MPI_Win_start, group, 0, window), nameOf("post.%d", turn), 0);
      MPI(MPI_Put, &rank, 1, MPI_INT, 0, rank, 1, MPI_INT, window);
      struct Event* event = MPI(MPI_Win_complete, window);
      newPart(event, nameOf("done.%d.%d", turn, rank));
      waiting(event, nameOf("post.%d", turn), 0);
    }
  }
  MPI_Group_free(&world);
  MPI_Group_free(&group);
  together(MPI(MPI_Win_free, &window), "free", ranks, 0, all, 1);
}

static MPI_Comm thread_comms[4];

static void* exchange(void* argument) {
  const int number = (int)(intptr_t)argument, with = rank ^ 1;
  char mine[kSmall] = {0};
  openAccount();
  together(MPI(MPI_Barrier, MPI_COMM_SELF), nameOf("warm.%d.%d", rank, number), 1, 0, -1, 1);
  for (int turn = 0; turn < 5; ++turn) {
    const char* name = nameOf("thread.%d.%d.%d", number, turn, rank & ~1);
    const double at = turn * 2 * kSlot + 10 * number;
    until(at + (rank % 2 ? 0 : kLate));
    if (rank % 2 == 0) {
      message(MPI(MPI_Send, mine, kSmall, MPI_CHAR, with, number, MPI_COMM_WORLD), name, with,
              number, kSmall);
    } else {
      received(planted(MPI(MPI_Recv, mine, kSmall, MPI_CHAR, with, number, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE),
                       kLate),
               name, with, number, kSmall);
    }
    until(at + kSlot + (rank % 2 ? kLate : 0));
    together(planted(MPI(MPI_Barrier, thread_comms[number]), rank % 2 ? 0 : kLate),
             nameOf("thread.barrier.%d.%d", number, turn), ranks, 0, ranks - 1, 1);
  }
  return NULL;
}

// Four threads a rank, each with a tag and a communicator of its own.
void threads(void) {
  pthread_t others[4];
  for (int i = 0; i < 4; ++i) {
    together(MPI(MPI_Comm_dup, MPI_COMM_WORLD, &thread_comms[i]), nameOf("dup.%d", i), -1, 0,
             ranks - 1, 1);
  }
  for (int i = 0; i < 4; ++i) {
    CHECK(pthread_create(&others[i], NULL, exchange, (void*)(intptr_t)i) == 0);
  }
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(others[i], NULL) == 0);
}
