// A program's own account of its MPI calls: when each began and ended, what messages and collective
// calls it is part of, for whom it has to wait, and how long it waits by the program's plan.
// Written as JSON lines to DIRECTORY/account.RANK, which tests/acceptance/mpi_order.py compares
// with a trace.
//
// A part of a call has a name that all who take part in the same message or collective call use,
// and no other; `after` are the ranks that the call waits for there: until they make the first of
// their calls that has this part. None: the call does not wait (it starts something, or ends what
// needs no other rank).
#pragma once

#include <mpi.h>
#include <stdint.h>

#include "check.h"

enum { kMostParts = 12, kMostAfter = 8, kMostName = 40 };

struct Part {
  char name[kMostName];
  int after[kMostAfter], waits;
};

struct Event {
  const char* call;
  int64_t start, end, planted;  // ns; planted: waiting by the plan, -1 when there is none
  int peer, tag, size;          // of the communicator; -1: not said
  int64_t bytes;
  struct Part part[kMostParts];
  int parts;
};

extern int rank, ranks;

// While it is set names of parts begin with "warm.": their times are not compared.
extern int rehearsing;

int64_t now(void);

// A further one, of the thread that calls. Its memory is touched before anything is measured.
void openAccount(void);

struct Event* newEvent(const char* call);

// Makes the call and notes it: MPI(MPI_Barrier, comm) is the new struct Event*.
#define MPI(CALL, ...)                      \
  ({                                        \
    struct Event* made = newEvent(#CALL);   \
    made->start = now();                    \
    int result_of_call = CALL(__VA_ARGS__); \
    made->end = now();                      \
    CHECK(result_of_call == MPI_SUCCESS);   \
    made;                                   \
  })

// The same of a call that tests, until it finds something: one event, which lasts from the first.
#define MPI_UNTIL(FOUND, CALL, ...)           \
  ({                                          \
    struct Event* made = newEvent(#CALL);     \
    made->start = now();                      \
    do {                                      \
      int result_of_call = CALL(__VA_ARGS__); \
      made->end = now();                      \
      CHECK(result_of_call == MPI_SUCCESS);   \
    } while (!(FOUND));                       \
    made;                                     \
  })

// Adds a part to an event; `waits` ranks behind it.
struct Part* newPart(struct Event* event, const char* name);

void waitsFor(struct Part* part, int other);

// The text of a name, until the next four of the thread.
const char* nameOf(const char* format, ...);

// A message whose call does not wait: a small send, the start of something.
struct Event* message(struct Event* event, const char* name, int peer, int tag, int64_t bytes);

// A part that waits until `other` makes its call.
struct Event* waiting(struct Event* event, const char* name, int other);

// A receive that returns with the message of `peer`.
struct Event* received(struct Event* event, const char* name, int peer, int tag, int64_t bytes);

// A collective call that waits for ranks `from` up to `to`, by steps of `step`; size is the
// group's.
struct Event* together(struct Event* event, const char* name, int size, int from, int to, int step);

struct Event* planted(struct Event* event, double ms);

// The plan's time begins for all ranks at the same moment: what is planted hangs on no message. All
// have come when it does.
void beginPlan(void);

// Until so many milliseconds after its begin.
void until(double ms);

void writeAccounts(const char* directory);
