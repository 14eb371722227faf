// The cases of c_order that send, probe for and receive a message in every way there is.
#include "c_order.h"

enum { kSmall = 1024 };

static char data[kSmall], other_data[kSmall];

// Probing for a message in each way, then receiving it; the sender is 60 ms late each time.
void probes(void) {
  const int with = rank ^ 1, late = 60;
  for (int way = 0; way < 4; ++way) {
    const char* name = nameOf("found.%d.%d", way, rank & ~1);
    until((way + 1) * late);
    if (rank % 2 == 0) {
      until((way + 1) * late + late / 2);
      message(MPI(MPI_Send, data, 100 + way, MPI_CHAR, with, way, MPI_COMM_WORLD), name, with, way,
              100 + way);
      continue;
    }
    int flag = 0;
    MPI_Message found;
    MPI_Status status;
    MPI_Request request;
    if (way == 0) {
      received(planted(MPI(MPI_Probe, MPI_ANY_SOURCE, way, MPI_COMM_WORLD, &status), late / 2),
               name, with, way, 100);
    } else if (way == 1) {
      received(planted(MPI_UNTIL(flag, MPI_Iprobe, with, MPI_ANY_TAG, MPI_COMM_WORLD, &flag,
                                 MPI_STATUS_IGNORE),
                       late / 2),
               name, with, way, 101);
    }
    if (way < 2) {
      message(MPI(MPI_Recv, data, kSmall, MPI_CHAR, with, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              name, with, way, 100 + way);
    } else if (way == 2) {
      received(planted(MPI(MPI_Mprobe, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found,
                           MPI_STATUS_IGNORE),
                       late / 2),
               name, with, way, 102);
      newPart(MPI(MPI_Mrecv, data, kSmall, MPI_CHAR, &found, MPI_STATUS_IGNORE), name);
    } else {
      received(
          planted(MPI_UNTIL(flag, MPI_Improbe, with, way, MPI_COMM_WORLD, &flag, &found, &status),
                  late / 2),
          name, with, way, 103);
      newPart(MPI(MPI_Imrecv, data, kSmall, MPI_CHAR, &found, &request), name);
      newPart(MPI(MPI_Wait, &request, MPI_STATUS_IGNORE), name);
    }
  }
}

// Each mode of sending, and sending and receiving at once. Odd ranks are 60 ms late each time.
void modes(void) {
  const int with = rank ^ 1, late = 60, odd = rank % 2;
  static char buffer[4 * kSmall + MPI_BSEND_OVERHEAD];
  MPI_Request request;
  MPI_Buffer_attach(buffer, sizeof buffer);
  for (int way = 0; way < 7; ++way) {
    const char* name = nameOf("mode.%d.%d", way, rank & ~1);
    const char* back = nameOf("mode.%d.%d", way, rank | 1);
    until(2 * way * late + (odd ? late : 0));
    if (way < 2) {
      struct Event* event =
          way == 0 ? MPI(MPI_Sendrecv, data, 10, MPI_CHAR, with, way, other_data, 20, MPI_CHAR,
                         MPI_ANY_SOURCE, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
                   : MPI(MPI_Sendrecv_replace, data, 10, MPI_CHAR, with, way, with, way,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      message(planted(event, odd ? 0 : late), odd ? back : name, with, way, 10);
      waiting(event, odd ? name : back, with);
    } else if (odd) {
      received(MPI(MPI_Recv, data, kSmall, MPI_CHAR, with, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
               name, with, way, 10);
    } else if (way == 2 || way == 3) {
      message(way == 2 ? MPI(MPI_Bsend, data, 10, MPI_CHAR, with, way, MPI_COMM_WORLD)
                       : MPI(MPI_Isend, data, 10, MPI_CHAR, with, way, MPI_COMM_WORLD, &request),
              name, with, way, 10);
      if (way == 3) newPart(MPI(MPI_Wait, &request, MPI_STATUS_IGNORE), name);
    } else if (way == 4) {
      struct Event* event = MPI(MPI_Ssend, data, 10, MPI_CHAR, with, way, MPI_COMM_WORLD);
      received(planted(event, late), name, with, way, 10);
    } else {
      struct Event* event =
          way == 5 ? MPI(MPI_Issend, data, 10, MPI_CHAR, with, way, MPI_COMM_WORLD, &request)
                   : MPI(MPI_Ibsend, data, 10, MPI_CHAR, with, way, MPI_COMM_WORLD, &request);
      message(event, name, with, way, 10);
      event = MPI(MPI_Wait, &request, MPI_STATUS_IGNORE);
      newPart(event, name);
      if (way == 5) planted(event, late), waitsFor(&event->part[0], with);
    }
  }
  void* detached;
  int size;
  MPI_Buffer_detach(&detached, &size);
}
