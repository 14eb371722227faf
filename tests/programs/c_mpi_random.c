// Messages at random between all ranks, over two communicators that number the ranks in opposite
// ways, received with MPI_ANY_SOURCE and MPI_ANY_TAG through more requests than are waited for at a
// time, and found complete in any order. Which receive got which message is written down by the
// numbers that the messages bring with them:
//
//   DIRECTORY/got.RANK    number of the receive in its rank, in post order; sender; number of the
//                         send in its rank
//
//   mpirun -n RANKS c_mpi_random SEED MESSAGES DIRECTORY
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kTags = 3, kWindow = 24, kMostRanks = 64, kLargest = 300000 };

static unsigned seed;
static int below(int limit) { return (int)((unsigned)rand_r(&seed) % (unsigned)limit); }

struct Id {
  int sender;
  int number;
};

static int rank, ranks;
static MPI_Comm communicators[2];
// A rank of the world in either communicator, and the other way round.
static int rankIn(int which, int of_world) { return which == 0 ? of_world : ranks - 1 - of_world; }

static int sizeAtRandom(void) {
  static const int kSizes[] = {16, 512, 20000, kLargest};  // eager and not
  const int die = below(20);
  return kSizes[die < 10 ? 0 : die < 16 ? 1 : die < 19 ? 2 : 3];
}

// Messages still to be received: through the first communicator from anyone, through the second
// from each.
static int left_from_anyone, left_from_each, left_from[kMostRanks];

static void agree(int messages, int* to, int* through) {
  int going[2][kMostRanks] = {{0}};
  int coming[2][kMostRanks] = {{0}};
  for (int i = 0; i < messages; ++i) {
    do {
      to[i] = below(ranks);
    } while (to[i] == rank);
    through[i] = below(2);
    ++going[through[i]][to[i]];
  }
  for (int which = 0; which < 2; ++which) {
    MPI_Alltoall(going[which], 1, MPI_INT, coming[which], 1, MPI_INT, MPI_COMM_WORLD);
  }
  for (int other = 0; other < ranks; ++other) {
    left_from_anyone += coming[0][other];
    left_from[other] = coming[1][other];
    left_from_each += coming[1][other];
  }
}

static void post(char* buffer, MPI_Request* request) {
  const int either = left_from_anyone > 0 && left_from_each > 0;
  int source = MPI_ANY_SOURCE;
  const int which = either ? below(2) : left_from_anyone > 0 ? 0 : 1;
  if (which == 0) {
    --left_from_anyone;
  } else {
    int other = 0;
    do {
      other = below(ranks);
    } while (left_from[other] == 0);
    --left_from[other];
    --left_from_each;
    source = rankIn(1, other);
  }
  MPI_Irecv(buffer, kLargest, MPI_CHAR, source, MPI_ANY_TAG, communicators[which], request);
}

// How many have been found complete, and which.
static int find(MPI_Request* requests, int* found) {
  int count = 0;
  switch (below(4)) {
    case 0:
      MPI_Testsome(kWindow, requests, &count, found, MPI_STATUSES_IGNORE);
      return count == MPI_UNDEFINED ? 0 : count;
    case 1:
      MPI_Testany(kWindow, requests, &found[0], &count, MPI_STATUS_IGNORE);
      return count != 0 && found[0] != MPI_UNDEFINED;
    default:  // the last that happens to be looked at
      for (int i = kWindow - 1; i >= 0 && count == 0; --i) {
        if (requests[i] == MPI_REQUEST_NULL || below(2) == 0) continue;
        found[0] = i;
        MPI_Test(&requests[i], &count, MPI_STATUS_IGNORE);
      }
      return count;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 4);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(ranks > 1 && ranks <= kMostRanks);
  seed = (unsigned)(atoi(argv[1]) * kMostRanks + rank);
  const int messages = atoi(argv[2]);
  char path[4096];
  snprintf(path, sizeof path, "%s/got.%d", argv[3], rank);
  FILE* account = fopen(path, "w");
  CHECK(account != NULL);
  communicators[0] = MPI_COMM_WORLD;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &communicators[1]);

  int* to = calloc((size_t)messages, sizeof *to);
  int* through = calloc((size_t)messages, sizeof *through);
  agree(messages, to, through);
  MPI_Request* sends = calloc((size_t)messages, sizeof *sends);
  char** sent_data = calloc((size_t)messages, sizeof *sent_data);
  MPI_Request receives[kWindow];
  char* buffers[kWindow];
  int posted_as[kWindow];
  for (int i = 0; i < kWindow; ++i) {
    receives[i] = MPI_REQUEST_NULL;
    buffers[i] = malloc(kLargest);
  }
  const int expected = left_from_anyone + left_from_each;
  int posted = 0, got = 0, sent = 0;
  while (got < expected || sent < messages) {
    for (int i = 0; i < kWindow && posted < expected; ++i) {
      if (receives[i] != MPI_REQUEST_NULL) continue;
      post(buffers[i], &receives[i]);
      posted_as[i] = posted++;
    }
    for (int more = below(6); more > 0 && sent < messages; --more, ++sent) {
      const int size = sizeAtRandom();
      const struct Id id = {rank, sent};
      sent_data[sent] = calloc(1, (size_t)size);
      memcpy(sent_data[sent], &id, sizeof id);
      MPI_Isend(sent_data[sent], size, MPI_CHAR, rankIn(through[sent], to[sent]), below(kTags),
                communicators[through[sent]], &sends[sent]);
    }
    if (got == posted) continue;
    int found[kWindow];
    const int count = find(receives, found);
    for (int i = 0; i < count; ++i) {
      struct Id id;
      memcpy(&id, buffers[found[i]], sizeof id);
      fprintf(account, "%d %d %d\n", posted_as[found[i]], id.sender, id.number);
      ++got;
    }
  }
  MPI_Waitall(messages, sends, MPI_STATUSES_IGNORE);
  fclose(account);
  MPI_Finalize();
  return 0;
}
