// The cases of c_order with messages so large that a sender waits for the receiver, and with
// several late ranks at once.
#include <pthread.h>

#include "c_order.h"

enum { kLarge = 1 << 20, kLate = 60, kSlot = 140 };

static char data[kLarge], other_data[3 * kLarge];

// Odd ranks receive late: by the posting of the receive the sender's wait ends.
static void sendersWait(void) {
  const int with = rank ^ 1, odd = rank % 2;
  MPI_Request request;
  for (int way = 0; way < 3; ++way) {
    const char* name = nameOf("large.%d.%d", way, rank & ~1);
    until(way * kSlot + (odd ? kLate : 0));
    if (odd) {
      received(
          MPI(MPI_Recv, other_data, kLarge, MPI_CHAR, with, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
          name, with, way, kLarge);
    } else if (way == 0) {
      received(planted(MPI(MPI_Send, data, kLarge, MPI_CHAR, with, way, MPI_COMM_WORLD), kLate),
               name, with, way, kLarge);
    } else if (way == 1) {
      message(MPI(MPI_Isend, data, kLarge, MPI_CHAR, with, way, MPI_COMM_WORLD, &request), name,
              with, way, kLarge);
      waiting(planted(MPI(MPI_Wait, &request, MPI_STATUS_IGNORE), kLate), name, with);
    } else {
      message(MPI(MPI_Isend, data, kLarge, MPI_CHAR, with, way, MPI_COMM_WORLD, &request), name,
              with, way, kLarge);
      waiting(planted(MPI(MPI_Waitall, 1, &request, MPI_STATUSES_IGNORE), kLate), name, with);
    }
  }
}

// Rank 0 takes a message of each other rank; each sends later than the one before.
static void severalLate(double at) {
  MPI_Request requests[3];
  if (rank == 0) {
    until(at);
    struct Event* event;
    for (int from = 1; from < ranks; ++from) {
      message(MPI(MPI_Irecv, other_data + (from - 1) * kLarge, kLarge, MPI_CHAR, from, 20,
                  MPI_COMM_WORLD, &requests[from - 1]),
              nameOf("several.%d", from), from, 20, kLarge);
    }
    event =
        planted(MPI(MPI_Waitall, ranks - 1, requests, MPI_STATUSES_IGNORE), kLate * (ranks - 1));
    for (int from = 1; from < ranks; ++from) waiting(event, nameOf("several.%d", from), from);
  } else {
    until(at + kLate * rank);
    message(MPI(MPI_Send, data, kLarge, MPI_CHAR, 0, 20, MPI_COMM_WORLD),
            nameOf("several.%d", rank), 0, 20, kLarge);
  }
}

// Messages that are there before any rank asks for them: no rank waits.
static void early(double at) {
  const int with = rank ^ 1, odd = rank % 2;
  MPI_Request request;
  const char* one = nameOf("early.1.%d", rank & ~1);
  const char* two = nameOf("early.2.%d", rank & ~1);
  until(at + (odd ? kLate : 0));
  if (!odd) {
    message(MPI(MPI_Send, data, 64, MPI_CHAR, with, 30, MPI_COMM_WORLD), one, with, 30, 64);
    message(MPI(MPI_Isend, data, 64, MPI_CHAR, with, 30, MPI_COMM_WORLD, &request), two, with, 30,
            64);
    newPart(MPI(MPI_Wait, &request, MPI_STATUS_IGNORE), two);
    return;
  }
  received(
      planted(MPI(MPI_Recv, other_data, 64, MPI_CHAR, with, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              0),
      one, with, 30, 64);
  message(MPI(MPI_Irecv, other_data, 64, MPI_CHAR, with, 30, MPI_COMM_WORLD, &request), two, with,
          30, 64);
  waiting(MPI(MPI_Wait, &request, MPI_STATUS_IGNORE), two, with);
}

void large(void) {
  memset(data, 1, sizeof data);
  memset(other_data, 2, sizeof other_data);
  sendersWait();
  severalLate(3 * kSlot);
  early(5 * kSlot);
}

enum { kThreads = 4, kEach = 25 };

static void* sameTag(void* argument) {
  const int with = rank ^ 1;
  char content[8] = "";
  (void)argument;
  openAccount();
  until(0);
  for (int turn = 0; turn < kEach; ++turn) {
    if (rank % 2 == 0) {
      message(MPI(MPI_Send, content, 8, MPI_CHAR, with, 5, MPI_COMM_WORLD), "same", with, 5, 8);
    } else {
      struct Event* event =
          MPI(MPI_Recv, content, 8, MPI_CHAR, with, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      message(event, "same", with, 5, 8);
    }
  }
  return NULL;
}

// Four threads send and four receive with one tag: such messages have no order (MPI-3.1, section
// 3.5), and any of the receives may be that of any send.
void same_tag(void) {
  pthread_t others[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    CHECK(pthread_create(&others[i], NULL, sameTag, (void*)(intptr_t)i) == 0);
  }
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_join(others[i], NULL) == 0);
}
