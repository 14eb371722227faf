// The checkpoints of FLASH through PnetCDF, by each way that PnetCDF has to write: a collective
// call a variable; nonblocking calls that one wait writes together; independent calls; and
// collective ones with strides. Beside the unknowns of the blocks, records of an unlimited
// dimension that only rank 0 writes, and attributes that are added later, which moves the data. The
// data is made up.
//
//   mpirun -n N c_pnetcdf_flash blocking|nonblocking|independent|strided STEPS
//                                                 in the directory where its files go
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { kUnknowns = 24, kEdge = 8, kBlocks = 5, kRecords = 3, kRead = 3 };

#define PNC(call) CHECK((call) == NC_NOERR)

static int rank, ranks;
static double cells[kBlocks * kEdge * kEdge * kEdge];

static void writeUnknowns(int file, const int* unknowns, const char* how) {
  const MPI_Offset start[] = {(MPI_Offset)rank * kBlocks, 0, 0, 0};
  const MPI_Offset count[] = {kBlocks, kEdge, kEdge, kEdge};
  int requests[kUnknowns], states[kUnknowns];
  if (strcmp(how, "independent") == 0) PNC(ncmpi_begin_indep_data(file));
  for (int i = 0; i < kUnknowns; ++i) {
    if (strcmp(how, "blocking") == 0) {
      PNC(ncmpi_put_vara_double_all(file, unknowns[i], start, count, cells));
    } else if (strcmp(how, "nonblocking") == 0) {
      PNC(ncmpi_iput_vara_double(file, unknowns[i], start, count, cells, &requests[i]));
    } else if (strcmp(how, "independent") == 0) {
      PNC(ncmpi_put_vara_double(file, unknowns[i], start, count, cells));
    } else {  // the blocks of all ranks in turn, and every other cell of a row
      const MPI_Offset first[] = {rank, 0, 0, 0}, step[] = {ranks, 1, 1, 2};
      const MPI_Offset half[] = {kBlocks, kEdge, kEdge, kEdge / 2};
      PNC(ncmpi_put_vars_double_all(file, unknowns[i], first, half, step, cells));
    }
  }
  if (strcmp(how, "independent") == 0) PNC(ncmpi_end_indep_data(file));
  if (strcmp(how, "nonblocking") == 0) PNC(ncmpi_wait_all(file, kUnknowns, requests, states));
}

static void checkpoint(const char* name, const char* how) {
  int file, dimensions[4], time, times, levels, coordinates, unknowns[kUnknowns];
  PNC(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
  PNC(ncmpi_def_dim(file, "blocks", (MPI_Offset)ranks * kBlocks, &dimensions[0]));
  PNC(ncmpi_def_dim(file, "z", kEdge, &dimensions[1]));
  PNC(ncmpi_def_dim(file, "y", kEdge, &dimensions[2]));
  PNC(ncmpi_def_dim(file, "x", kEdge, &dimensions[3]));
  PNC(ncmpi_def_dim(file, "time", NC_UNLIMITED, &time));
  const int of_record[] = {time, dimensions[0]};
  PNC(ncmpi_def_var(file, "times", NC_DOUBLE, 1, &time, &times));
  PNC(ncmpi_def_var(file, "levels", NC_INT, 1, dimensions, &levels));
  PNC(ncmpi_def_var(file, "coordinates", NC_FLOAT, 2, of_record, &coordinates));
  for (int i = 0; i < kUnknowns; ++i) {
    char unknown[8];
    snprintf(unknown, sizeof unknown, "u%02d", i);
    PNC(ncmpi_def_var(file, unknown, NC_DOUBLE, 4, dimensions, &unknowns[i]));
  }
  PNC(ncmpi_enddef(file));

  const MPI_Offset own = (MPI_Offset)rank * kBlocks, count = kBlocks;
  const int level[kBlocks] = {rank};
  const float places[kBlocks] = {(float)rank};
  PNC(ncmpi_put_vara_int_all(file, levels, &own, &count, level));
  for (MPI_Offset record = 0; record < kRecords; ++record) {
    const MPI_Offset start[] = {record, own}, counts[] = {1, count}, one = rank == 0 ? 1 : 0;
    const double now = (double)record;
    PNC(ncmpi_put_vara_float_all(file, coordinates, start, counts, places));
    PNC(ncmpi_put_vara_double_all(file, times, &record, &one, &now));
  }
  writeUnknowns(file, unknowns, how);

  static const char text[] = "finished";
  PNC(ncmpi_redef(file));
  PNC(ncmpi_put_att_text(file, NC_GLOBAL, "state", sizeof text, text));
  PNC(ncmpi_enddef(file));
  PNC(ncmpi_close(file));
}

static void restart(const char* name) {
  int file;
  PNC(ncmpi_open(MPI_COMM_WORLD, name, NC_NOWRITE, MPI_INFO_NULL, &file));
  const MPI_Offset start[] = {(MPI_Offset)rank * kBlocks, 0, 0, 0};
  const MPI_Offset count[] = {kBlocks, kEdge, kEdge, kEdge};
  for (int i = 0; i < kRead; ++i) {
    int unknown;
    char of[8];
    snprintf(of, sizeof of, "u%02d", i);
    PNC(ncmpi_inq_varid(file, of, &unknown));
    PNC(ncmpi_get_vara_double_all(file, unknown, start, count, cells));
  }
  PNC(ncmpi_close(file));
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  CHECK(count == 3);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (size_t i = 0; i < sizeof cells / sizeof *cells; ++i) cells[i] = rank + (double)i;
  for (int step = 0; step < atoi(words[2]); ++step) {
    char name[32];
    snprintf(name, sizeof name, "checkpoint.%d.nc", step);
    checkpoint(name, words[1]);
    restart(name);
  }
  MPI_Finalize();
  return 0;
}
