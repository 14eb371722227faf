// MPI programs that do their I/O through libraries, for the campaign of replays: parallel HDF5,
// PnetCDF, and views and collective calls of MPI-IO. One program, many workloads:
//
//   c_libraries NAME [FACTOR]       in the directory where its files go
//
// FACTOR multiplies the number of steps. Files and their parts are written again and again, so that
// a long run takes no more room than 40 MiB. Between steps each rank computes by sleeping, all for
// the same time. Rank 0 prints the time in seconds from the first call of I/O of any rank to the
// end of the last.
#define _GNU_SOURCE
#include <hdf5.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

enum {
  kKept = 4,
  kRecords = 8,
  kSegments = 40
};  // files, records, parts until the first comes again
enum { kArrays = 4, kEdge = 32, kCells = kEdge * kEdge * kEdge, kRows = 2048, kBlock = 256 * 1024 };

#define OK(...) CHECK((__VA_ARGS__) == MPI_SUCCESS)
#define PNC(call) CHECK((call) == NC_NOERR)
#define H5(call) CHECK((call) >= 0)

static int rank, ranks, steps;
static double cells[kArrays][kCells];
static char block[kBlock];
static double first = -1, last;

static void begin(void) {
  if (first < 0) first = MPI_Wtime();
}
static void end(void) { last = MPI_Wtime(); }

static void compute(void) {
  const struct timespec time = {.tv_nsec = 2000000};
  nanosleep(&time, NULL);
}

// Several arrays of three dimensions, each a collective call; ranks have slabs of the second one.
static int defineArrays(const char* name, int is_record, int* arrays) {
  int file, dimensions[4];
  PNC(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
  PNC(ncmpi_def_dim(file, "time", is_record ? NC_UNLIMITED : 1, &dimensions[0]));
  PNC(ncmpi_def_dim(file, "z", kEdge, &dimensions[1]));
  PNC(ncmpi_def_dim(file, "y", (MPI_Offset)kEdge * ranks, &dimensions[2]));
  PNC(ncmpi_def_dim(file, "x", kEdge, &dimensions[3]));
  for (int i = 0; i < kArrays; ++i) {
    char array[8];
    snprintf(array, sizeof array, "u%d", i);
    PNC(ncmpi_def_var(file, array, NC_DOUBLE, 4, dimensions, &arrays[i]));
  }
  PNC(ncmpi_enddef(file));
  return file;
}

static void placeOf(MPI_Offset record, MPI_Offset start[4], MPI_Offset count[4]) {
  const MPI_Offset starts[] = {record, 0, (MPI_Offset)rank * kEdge, 0};
  const MPI_Offset counts[] = {1, kEdge, kEdge, kEdge};
  memcpy(start, starts, sizeof starts);
  memcpy(count, counts, sizeof counts);
}

static void pnetcdfArrays(void) {
  MPI_Offset start[4], count[4];
  placeOf(0, start, count);
  for (int step = 0; step < 8 * steps; ++step) {
    char name[32];
    int arrays[kArrays];
    snprintf(name, sizeof name, "arrays.%d.nc", step % kKept);
    const int file = defineArrays(name, 0, arrays);
    for (int i = 0; i < kArrays; ++i) {
      PNC(ncmpi_put_vara_double_all(file, arrays[i], start, count, cells[i]));
    }
    PNC(ncmpi_close(file));
    compute();
  }
}

// The same by calls that one wait completes together.
static void pnetcdfRequests(void) {
  MPI_Offset start[4], count[4];
  placeOf(0, start, count);
  for (int step = 0; step < 8 * steps; ++step) {
    char name[32];
    int arrays[kArrays], requests[kArrays], states[kArrays];
    snprintf(name, sizeof name, "requests.%d.nc", step % kKept);
    const int file = defineArrays(name, 0, arrays);
    for (int i = 0; i < kArrays; ++i) {
      PNC(ncmpi_iput_vara_double(file, arrays[i], start, count, cells[i], &requests[i]));
    }
    PNC(ncmpi_wait_all(file, kArrays, requests, states));
    PNC(ncmpi_close(file));
    compute();
  }
}

// One file of some records of all arrays, one a step, which are read again.
static void pnetcdfRecords(void) {
  MPI_Offset start[4], count[4];
  int arrays[kArrays];
  const int file = defineArrays("records.nc", 1, arrays);
  for (int step = 0; step < 8 * steps; ++step) {
    placeOf(step % kRecords, start, count);
    for (int i = 0; i < kArrays; ++i) {
      PNC(ncmpi_put_vara_double_all(file, arrays[i], start, count, cells[i]));
    }
    compute();
  }
  for (int step = 0; step < 8 * steps; ++step) {
    placeOf(step % kRecords, start, count);
    PNC(ncmpi_get_vara_double_all(file, arrays[0], start, count, cells[0]));
  }
  PNC(ncmpi_close(file));
}

static hid_t createHdf5(const char* name, int has_collective_metadata) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
  if (has_collective_metadata) {
    H5(H5Pset_coll_metadata_write(access, 1));
    H5(H5Pset_all_coll_metadata_ops(access, 1));
  }
  const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  CHECK(file >= 0);
  H5(H5Pclose(access));
  return file;
}

static void writeHdf5(hid_t file, const char* name, hsize_t rows, hsize_t chunk) {
  const hsize_t whole[] = {rows * (hsize_t)ranks, kEdge}, part[] = {rows, kEdge};
  const hsize_t start[] = {rows * (hsize_t)rank, 0}, chunks[] = {chunk, kEdge};
  const hid_t space = H5Screate_simple(2, whole, NULL), memory = H5Screate_simple(2, part, NULL);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE), how = H5Pcreate(H5P_DATASET_XFER);
  if (chunk > 0) H5(H5Pset_chunk(creation, 2, chunks));
  H5(H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE));
  H5(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part, NULL));
  const hid_t dataset =
      H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  CHECK(dataset >= 0);
  H5(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, how, cells));
  H5(H5Dclose(dataset));
  H5(H5Pclose(how));
  H5(H5Pclose(creation));
  H5(H5Sclose(memory));
  H5(H5Sclose(space));
}

// Many groups with small datasets and attributes, whose metadata all ranks write together.
static void hdf5Metadata(void) {
  for (int step = 0; step < 2 * steps; ++step) {
    char name[64];
    snprintf(name, sizeof name, "metadata.%d.h5", step % kKept);
    const hid_t file = createHdf5(name, 1);
    for (int i = 0; i < 40; ++i) {
      snprintf(name, sizeof name, "group%d", i);
      const hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      const hid_t scalar = H5Screate(H5S_SCALAR);
      const hid_t attribute =
          H5Acreate2(group, "step", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
      CHECK(group >= 0 && attribute >= 0);
      H5(H5Awrite(attribute, H5T_NATIVE_INT, &step));
      writeHdf5(group, "small", 4, 0);
      H5(H5Aclose(attribute));
      H5(H5Sclose(scalar));
      H5(H5Gclose(group));
      if (i % 10 == 9) H5(H5Fflush(file, H5F_SCOPE_GLOBAL));
    }
    H5(H5Fclose(file));
    compute();
  }
}

// Datasets in chunks, of which each rank writes some of its own and shares others.
static void hdf5Chunks(void) {
  for (int step = 0; step < 4 * steps; ++step) {
    char name[64];
    snprintf(name, sizeof name, "chunks.%d.h5", step % kKept);
    const hid_t file = createHdf5(name, 0);
    for (int i = 0; i < kArrays; ++i) {
      snprintf(name, sizeof name, "u%d", i);
      writeHdf5(file, name, kRows, 384);
    }
    H5(H5Fclose(file));
    compute();
  }
}

// Four variables of one record each, through a view of nested types: slabs of an array, repeated
// for the variables, and every second record of the file.
static void nestedViews(void) {
  const int sizes[] = {kEdge, kEdge * ranks, kEdge}, parts[] = {kEdge, kEdge, kEdge};
  const int starts[] = {0, kEdge * rank, 0};
  MPI_Datatype slab, variables, records;
  MPI_File file;
  OK(MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &slab));
  OK(MPI_Type_contiguous(kArrays, slab, &variables));
  MPI_Aint low, extent;
  OK(MPI_Type_get_extent(variables, &low, &extent));
  OK(MPI_Type_create_resized(variables, 0, 2 * extent, &records));
  OK(MPI_Type_commit(&records));
  begin();
  OK(MPI_File_open(MPI_COMM_WORLD, "views", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  OK(MPI_File_set_view(file, 4096, MPI_DOUBLE, records, "native", MPI_INFO_NULL));
  for (int step = 0; step < 8 * steps; ++step) {
    if (step % kRecords == 0) OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
    OK(MPI_File_write_all(file, cells, kArrays * kCells, MPI_DOUBLE, MPI_STATUS_IGNORE));
    compute();
  }
  for (int step = 0; step < 8 * steps; ++step) {
    if (step % kRecords == 0) OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
    OK(MPI_File_read_all(file, cells, kArrays * kCells, MPI_DOUBLE, MPI_STATUS_IGNORE));
  }
  OK(MPI_File_close(&file));
  OK(MPI_Type_free(&records));
  OK(MPI_Type_free(&variables));
  OK(MPI_Type_free(&slab));
}

// IOR with one file, collective, in segments; ranks read what their neighbour has written.
static void iorLike(void) {
  MPI_File file;
  begin();
  OK(MPI_File_open(MPI_COMM_WORLD, "ior", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  for (int segment = 0; segment < 40 * steps; ++segment) {
    const MPI_Offset at = ((MPI_Offset)(segment % kSegments) * ranks + rank) * kBlock;
    OK(MPI_File_write_at_all(file, at, block, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
    if (segment % 8 == 7) compute();
  }
  OK(MPI_File_sync(file));
  for (int segment = 0; segment < 40 * steps; ++segment) {
    const MPI_Offset at = ((MPI_Offset)(segment % kSegments) * ranks + (rank + 1) % ranks) * kBlock;
    OK(MPI_File_read_at_all(file, at, block, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  OK(MPI_File_close(&file));
}

// Finds components of the MPI library by opening a file that is not recorded.
static void warm(void) {
  MPI_File file;
  OK(MPI_File_open(MPI_COMM_WORLD, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  OK(MPI_File_close(&file));
}

static const struct {
  const char* name;
  void (*run)(void);
} workloads[] = {{"pnetcdf-arrays", pnetcdfArrays},
                 {"pnetcdf-requests", pnetcdfRequests},
                 {"pnetcdf-records", pnetcdfRecords},
                 {"hdf5-metadata", hdf5Metadata},
                 {"hdf5-chunks", hdf5Chunks},
                 {"views", nestedViews},
                 {"ior-ompio", iorLike},
                 {"ior-romio", iorLike}};

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  CHECK(argc == 2 || argc == 3);
  steps = argc == 3 ? atoi(argv[2]) : 1;
  CHECK(steps > 0);
  void (*workload)(void) = NULL;
  for (size_t i = 0; i < sizeof workloads / sizeof *workloads; ++i) {
    if (strcmp(argv[1], workloads[i].name) == 0) workload = workloads[i].run;
  }
  CHECK(workload != NULL);
  for (int i = 0; i < kArrays; ++i) {
    for (int cell = 0; cell < kCells; ++cell) cells[i][cell] = rank + i * 0.5 + cell;
  }
  memset(block, 'a' + rank, sizeof block);
  warm();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  begin();
  workload();
  end();
  double from, to;
  OK(MPI_Reduce(&first, &from, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD));
  OK(MPI_Reduce(&last, &to, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD));
  if (rank == 0) printf("%.6f\n", to - from);
  OK(MPI_Finalize());
  return 0;
}
