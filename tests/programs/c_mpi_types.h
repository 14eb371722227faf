// The datatypes of c_mpi_types.c.
#pragma once

#include <mpi.h>

#include "check.h"

enum { kMostBytes = 4096, kCases = 18 };

extern int rank, ranks;

#define MPI(call) CHECK((call) == MPI_SUCCESS)

// A view, and by the program's own reckoning where the bytes of its filetype lie.
struct Case {
  const char* name;
  MPI_Datatype etype, filetype;
  int etype_bytes;
  MPI_Offset disp, extent;
  long place[kMostBytes];  // of each byte of data in the filetype
  int bytes;
  int same;  // on all ranks
};

// Makes case `number` on this rank; the caller commits and frees the filetype.
void makeCase(int number, struct Case* c);
