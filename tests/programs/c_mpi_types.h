// The parts of c_mpi_types.c: datatypes, the account, and accesses of each kind.
#pragma once

#include <mpi.h>

#include "check.h"

enum { kMostBytes = 4096, kCases = 19, kRequest = 10 };  // a request has so many etypes

extern int rank, ranks;
extern const char* directory;
extern int with_short_nonblocking;  // not every library can
extern char path[4096];             // of the file that is open
extern unsigned char data[kMostBytes];

#define MPI(call) CHECK((call) == MPI_SUCCESS)
#define WAITED(CALL) ((CALL) == MPI_SUCCESS ? MPI_Wait(&request, &status) : MPI_ERR_OTHER)
#define ENDED(BEGIN, END) ((BEGIN) == MPI_SUCCESS ? (END) : MPI_ERR_OTHER)

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
long inFile(const struct Case* c, long view_byte);

// ---- the account ----

void openAccount(void);
void closeAccount(void);
// A request of `bytes` bytes of the view from byte `from` on; `from` < 0: not known.
void note(const struct Case* c, const char* call, long from, long bytes);
// The same, of one that a reader of the trace may not be able to place.
void noteMaybe(const struct Case* c, const char* call, long from, long bytes);

// Never 0, which is what holes have.
unsigned char valueOf(int of_rank, long number);
void fill(long from, int bytes);
void compare(long from, int bytes);

MPI_File openFile(MPI_Comm communicator, struct Case* c, const char* kind);
void setView(MPI_File file, struct Case* c);
void seek(MPI_File file, const struct Case* c, long etypes, int whence);
void closeFile(MPI_File* file, struct Case* c);

// ---- accesses ----

// By the shared pointer; all ranks have the same view.
void moveShared(struct Case* c);
// Pointers that begin at the end of the file or go there, and reads that find it.
void moveAtEnd(void);
