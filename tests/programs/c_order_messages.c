// The cases of c_order between two ranks at a time.
#include <fcntl.h>

#include "c_order.h"

enum { kSmall = 1024, kLarge = 1 << 20 };

static char data[kLarge], other_data[kLarge];

// A token goes round twice; each rank holds it for 60 ms.
void ring(void) {
  const int hold = 60, next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  until(0);
  for (int round = 0; round < 2; ++round) {
    const int place = round * ranks + rank;
    if (place > 0) {
      received(
          planted(MPI(MPI_Recv, data, 8, MPI_CHAR, previous, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                  hold * (round == 0 ? rank : ranks - 1)),
          nameOf("token.%d", place - 1), previous, 5, 8);
    }
    until(hold * (place + 1));
    message(MPI(MPI_Send, data, 8, MPI_CHAR, next, 5, MPI_COMM_WORLD), nameOf("token.%d", place),
            next, 5, 8);
  }
  if (rank == 0) {
    received(MPI(MPI_Recv, data, 8, MPI_CHAR, previous, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             nameOf("token.%d", 2 * ranks - 1), previous, 5, 8);
  }
}

// Even ranks make something every 50 ms for the next odd one, which waits; then the consumer is the
// slow one, and large messages wait for it.
void producer(void) {
  const int with = rank ^ 1;
  until(0);
  for (int i = 0; i < 8; ++i) {
    const char* name = nameOf("piece.%d.%d", rank & ~1, i);
    const int bytes = i < 4 ? kSmall : kLarge, late = 50;
    if (rank % 2 == 0) {
      if (i < 4) until(late * (i + 1));
      if (i == 4) until(late * 5);
      struct Event* event = MPI(MPI_Send, data, bytes, MPI_CHAR, with, i, MPI_COMM_WORLD);
      message(event, name, with, i, bytes);
      if (i >= 4) planted(event, late), waitsFor(&event->part[0], with);
    } else {
      if (i >= 4) until(late * (i + 2));
      struct Event* event =
          MPI(MPI_Recv, data, bytes, MPI_CHAR, with, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      received(event, name, with, i, bytes);
      if (i < 4) planted(event, late);
    }
  }
}

// Rank 0 hands out work, takes results from whoever is ready and never looks at a status.
void workers(void) {
  const int tasks = 3, late = 60;
  int task[2];
  until(0);
  if (rank == 0) {
    for (int to = 1; to < ranks; ++to) {
      task[0] = 0;
      message(MPI(MPI_Send, task, 1, MPI_INT, to, 100, MPI_COMM_WORLD), nameOf("task.%d.0", to), to,
              100, 4);
    }
    for (int i = 0; i < tasks * (ranks - 1); ++i) {
      struct Event* event = MPI(MPI_Recv, task, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                                MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      const int from = task[0], number = task[1];
      received(planted(event, late), nameOf("result.%d.%d", from, number), from, 200 + number, 8);
      const int more = number + 1 < tasks;
      message(MPI(MPI_Send, task, more, MPI_INT, from, more ? 100 : 101, MPI_COMM_WORLD),
              nameOf("task.%d.%d", from, number + 1), from, more ? 100 : 101, 4 * more);
    }
    return;
  }
  for (int i = 0;; ++i) {
    MPI_Status status;
    struct Event* event = MPI(MPI_Recv, task, 2, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    received(event, nameOf("task.%d.%d", rank, i), 0, status.MPI_TAG, i < tasks ? 4 : 0);
    if (status.MPI_TAG == 101) break;
    until(late * (i * (ranks - 1) + rank));
    task[0] = rank, task[1] = i;
    message(MPI(MPI_Send, task, 2, MPI_INT, 0, 200 + i, MPI_COMM_WORLD),
            nameOf("result.%d.%d", rank, i), 0, 200 + i, 8);
  }
}

// The four requests of a halo exchange, and what they are.
static MPI_Request requests[4];
static const char* names[4];
static int sources[4];  // -1: a send

// The call has completed request number `which`.
static void completes(struct Event* event, int which) {
  if (sources[which] < 0) {
    newPart(event, names[which]);
  } else {
    waiting(event, names[which], sources[which]);
  }
}

static void completeHalo(int way, double late) {
  int which[4], count = 0, flag = 0;
  struct Event* event = NULL;
  switch (way) {
    case 0:
      for (int i = 0; i < 4; ++i) completes(MPI(MPI_Wait, &requests[i], MPI_STATUS_IGNORE), i);
      return;
    case 1:
      event = planted(MPI(MPI_Waitall, 4, requests, MPI_STATUSES_IGNORE), late);
      for (int i = 0; i < 4; ++i) completes(event, i);
      return;
    case 2:
      for (int i = 0; i < 4; ++i) {
        event = MPI(MPI_Waitany, 4, requests, &which[0], MPI_STATUS_IGNORE);
        completes(event, which[0]);
      }
      return;
    case 3:
      for (int done = 0; done < 4; done += count) {
        event = MPI(MPI_Waitsome, 4, requests, &count, which, MPI_STATUSES_IGNORE);
        for (int i = 0; i < count; ++i) completes(event, which[i]);
      }
      return;
    case 4:
      for (int i = 0; i < 4; ++i) {
        event = MPI_UNTIL(flag, MPI_Test, &requests[i], &flag, MPI_STATUS_IGNORE);
        completes(event, i);
      }
      return;
    case 5:
      event = planted(MPI_UNTIL(flag, MPI_Testall, 4, requests, &flag, MPI_STATUSES_IGNORE), late);
      for (int i = 0; i < 4; ++i) completes(event, i);
      return;
    case 6:
      for (int i = 0; i < 4; ++i) {
        event = MPI_UNTIL(flag, MPI_Testany, 4, requests, &which[0], &flag, MPI_STATUS_IGNORE);
        completes(event, which[0]);
      }
      return;
    default:
      for (int done = 0; done < 4; done += count) {
        event = MPI_UNTIL(count > 0, MPI_Testsome, 4, requests, &count, which, MPI_STATUSES_IGNORE);
        for (int i = 0; i < count; ++i) completes(event, which[i]);
      }
  }
}

// Left and right neighbours on a ring, completed in each of the eight ways; in each one rank sends
// 80 ms late.
void halo(void) {
  const int late = 80, slot = 160;
  const int sides[2] = {(rank + ranks - 1) % ranks, (rank + 1) % ranks};
  static char texts[4][kMostName];
  for (int way = 0; way < 8; ++way) {
    const int straggler = way % ranks;
    until(way * slot);
    for (int i = 0; i < 2; ++i) {
      strcpy(texts[i], nameOf("halo.%d.%d.%d", way, sides[i], rank));
      strcpy(texts[2 + i], nameOf("halo.%d.%d.%d", way, rank, sides[i]));
      names[i] = texts[i], names[2 + i] = texts[2 + i];
      sources[i] = sides[i], sources[2 + i] = -1;
      message(MPI(MPI_Irecv, other_data + i * kSmall, kSmall, MPI_CHAR, sides[i], way,
                  MPI_COMM_WORLD, &requests[i]),
              names[i], sides[i], way, kSmall);
    }
    if (rank == straggler) until(way * slot + late);
    for (int i = 0; i < 2; ++i) {
      message(
          MPI(MPI_Isend, data, kSmall, MPI_CHAR, sides[i], way, MPI_COMM_WORLD, &requests[2 + i]),
          names[2 + i], sides[i], way, kSmall);
    }
    const int beside = sides[0] == straggler || sides[1] == straggler;
    completeHalo(way, beside && rank != straggler ? late : 0);
  }
}

// One persistent pair, started one by one and together; the sender is 60 ms late each time.
void persistent(void) {
  const int with = rank ^ 1, late = 60;
  MPI_Request pair[2];
  MPI_Recv_init(other_data, kSmall, MPI_CHAR, with, 9, MPI_COMM_WORLD, &pair[0]);
  MPI_Send_init(data, kSmall, MPI_CHAR, with, 9, MPI_COMM_WORLD, &pair[1]);
  for (int turn = 0; turn < 4; ++turn) {
    const int straggler = turn % 2 == rank % 2;
    const char* in = nameOf("again.%d.%d", turn, with);
    const char* out = nameOf("again.%d.%d", turn, rank);
    until(turn * 2 * late);
    if (turn < 2) {
      newPart(MPI(MPI_Start, &pair[0]), in);
      if (straggler) until(turn * 2 * late + late);
      newPart(MPI(MPI_Start, &pair[1]), out);
    } else {
      if (straggler) until(turn * 2 * late + late);
      struct Event* event = MPI(MPI_Startall, 2, pair);
      newPart(event, in), newPart(event, out);
    }
    struct Event* event =
        planted(MPI(MPI_Waitall, 2, pair, MPI_STATUSES_IGNORE), straggler ? 0 : late);
    waiting(event, in, with), newPart(event, out);
  }
  MPI(MPI_Request_free, &pair[0]);
  MPI(MPI_Request_free, &pair[1]);
}

// Receives of anything, completed in another order than they were posted: what each got stands in
// the message.
void wildcards(void) {
  enum { kEach = 3, kMost = 16 };
  const int total = kEach * (ranks - 1);
  if (rank > 0) {
    for (int i = 0; i < kEach; ++i) {
      int content[2] = {rank, i};
      until(100 + 60 * ((ranks - 1 - rank) * kEach + i));
      message(MPI(MPI_Send, content, 2, MPI_INT, 0, 7, MPI_COMM_WORLD),
              nameOf("any.%d.%d", rank, i), 0, 7, 8);
    }
    return;
  }
  MPI_Request posted[kMost];
  int content[kMost][2];
  struct Event* begun[kMost];
  CHECK(total <= kMost);
  until(0);
  for (int i = 0; i < total; ++i) {
    begun[i] = MPI(MPI_Irecv, content[i], 2, MPI_INT, MPI_ANY_SOURCE, i % 2 ? 7 : MPI_ANY_TAG,
                   MPI_COMM_WORLD, &posted[i]);
  }
  until(100 + 60 * total);  // all are there; completed from the last to the first
  for (int i = total - 1; i >= 0; --i) {
    struct Event* event = planted(MPI(MPI_Wait, &posted[i], MPI_STATUS_IGNORE), 0);
    const char* name = nameOf("any.%d.%d", content[i][0], content[i][1]);
    newPart(event, name), newPart(begun[i], name);
  }
}

// Rank 0 passes on what it wrote; rank 1 has no file of its own.
void relay(void) {
  PATH(path, directory, "relayed");
  until(0);
  if (rank > 0) {
    received(
        planted(MPI(MPI_Recv, data, 16, MPI_CHAR, rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                80 + 20 * (rank - 1)),
        nameOf("relay.%d", rank), rank - 1, 3, 16);
  }
  until(80 + 20 * rank);
  if (rank != 1) {
    int fd = open(path, O_CREAT | O_RDWR, 0644);
    CHECK(fd >= 0 && pwrite(fd, data, 16, 16 * rank) == 16 && close(fd) == 0);
  }
  if (rank + 1 < ranks) {
    message(MPI(MPI_Send, data, 16, MPI_CHAR, rank + 1, 3, MPI_COMM_WORLD),
            nameOf("relay.%d", rank + 1), rank + 1, 3, 16);
  }
}
