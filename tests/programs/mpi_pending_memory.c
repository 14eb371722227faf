// Preloaded before a program of MPI-IO: ends it when nonblocking requests that it has not yet
// waited for have memory in common, which MPI forbids where one of them reads. When the program
// ends, it says on standard error how many were pending at once: "pending at once: 8".
//
// A wait or a test ends all of them, as in a program that begins some and then waits for all.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMost = 64 };

typedef struct {
  const char* begin;
  const char* end;
} Memory;

static Memory pending[kMost];
static int count = 0;
static int most = 0;

static void begin(const void* data, int elements, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  const Memory own = {data, (const char*)data + (size_t)elements * (size_t)size};
  for (int i = 0; i < count; ++i) {
    if (own.begin < pending[i].end && pending[i].begin < own.end) {
      fprintf(stderr, "two pending requests share memory\n");
      abort();
    }
  }
  if (count < kMost) pending[count++] = own;
  if (count > most) most = count;
}

int MPI_File_iread_at(MPI_File file, MPI_Offset at, void* data, int elements, MPI_Datatype type,
                      MPI_Request* request) {
  begin(data, elements, type);
  return PMPI_File_iread_at(file, at, data, elements, type, request);
}

int MPI_File_iwrite_at(MPI_File file, MPI_Offset at, const void* data, int elements,
                       MPI_Datatype type, MPI_Request* request) {
  begin(data, elements, type);
  return PMPI_File_iwrite_at(file, at, data, elements, type, request);
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  count = 0;
  return PMPI_Wait(request, status);
}

int MPI_Waitall(int requests, MPI_Request* all, MPI_Status* statuses) {
  count = 0;
  return PMPI_Waitall(requests, all, statuses);
}

int MPI_Testall(int requests, MPI_Request* all, int* is_done, MPI_Status* statuses) {
  count = 0;
  return PMPI_Testall(requests, all, is_done, statuses);
}

int MPI_Finalize(void) {
  fprintf(stderr, "pending at once: %d\n", most);
  return PMPI_Finalize();
}
