// MPI-IO from two places, and messages: the file has in each rank's record by which of them it was
// written, "LINE FUNCTION CALLER".
//
//   c_mpi_callstack FILE
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
enum { kRecord = 64, kTurns = 4 };

static MPI_File file;
static int rank, ranks, records;

static NOINLINE MPI_Offset fill(char* record, const char* chain) {
  memset(record, 0, kRecord);
  snprintf(record, kRecord, "0 %s", chain);
  return (MPI_Offset)(records++ * ranks + rank) * kRecord;
}

NOINLINE void checkpoint(void) {
  char record[kRecord];
  const MPI_Offset place = fill(record, "checkpoint timestep");
  MPI_File_write_at(file, place, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE);
  __asm__ volatile("" : : : "memory");
}

NOINLINE void history(void) {
  char record[kRecord];
  const MPI_Offset place = fill(record, "history timestep");
  MPI_File_write_at(file, place, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE);
  __asm__ volatile("" : : : "memory");
}

NOINLINE void timestep(void) {
  checkpoint();
  history();
  MPI_Barrier(MPI_COMM_WORLD);
  __asm__ volatile("" : : : "memory");
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  for (int turn = 0; turn < kTurns; ++turn) timestep();
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
