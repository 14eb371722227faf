// Every MPI call that a trace records, each a number of times of its own.
#pragma once

#include <mpi.h>

#include "check.h"

enum { kInts = 64 };

extern int rank, ranks;
extern int in[kInts * 16], out[kInts * 16];

// So often the next statement is done: 1 to 4 times, by turns, the same in all ranks.
int turns(void);
#define SOME for (int turn = 0, most = turns(); turn < most; ++turn)
#define OK(...) CHECK((__VA_ARGS__) == MPI_SUCCESS)

void oneSidedCalls(void);
void fileCalls(const char* directory, int nonblocking_collectives);
