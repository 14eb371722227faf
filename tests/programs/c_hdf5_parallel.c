// A file that all ranks write through parallel HDF5 (its MPI-IO driver): a dataset in rows by
// turns, collectively, one in blocks, independently, and one in chunks; each is read back by
// another rank.
//
//   mpirun -n N c_hdf5_parallel FILE [metadata|extend]
//
// metadata: HDF5 reads and writes its own data collectively, too. extend: datasets that grow while
// each rank writes its part by itself, and each rank opens the file again by itself to read it.
//
// Prints the bytes of data in the file, and a sum of what each rank read.
#include <hdf5.h>
#include <mpi.h>

#include "check.h"

enum { kRows = 24, kColumns = 512 };

static int rank, ranks;
static int data[kRows][kColumns];

// Row `row` of the dataset, of all ranks' rows.
static int value(int row, int column) { return row * kColumns + column; }

// The rows of a rank: every N-th, or one behind the other.
static int rowOf(int of_rank, int number, int in_turns) {
  return in_turns ? number * ranks + of_rank : of_rank * kRows + number;
}

static hid_t rowsOf(hid_t dataset, int of_rank, int in_turns) {
  hid_t space = H5Dget_space(dataset);
  const hsize_t start[2] = {(hsize_t)rowOf(of_rank, 0, in_turns), 0};
  const hsize_t stride[2] = {in_turns ? (hsize_t)ranks : 1, 1};
  const hsize_t count[2] = {kRows, kColumns};
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL) >= 0);
  return space;
}

static long transfer(hid_t file, const char* name, int in_turns, int collective, int chunked) {
  const hsize_t extent[2] = {(hsize_t)(kRows * ranks), kColumns};
  const hsize_t chunk[2] = {kRows / 2, kColumns / 2}, mine[2] = {kRows, kColumns};
  hid_t space = H5Screate_simple(2, extent, NULL), memory = H5Screate_simple(2, mine, NULL);
  hid_t creation = H5Pcreate(H5P_DATASET_CREATE), how = H5Pcreate(H5P_DATASET_XFER);
  CHECK(H5Pset_obj_track_times(creation, 0) >= 0);  // else no two runs write the same
  if (chunked) CHECK(H5Pset_chunk(creation, 2, chunk) >= 0);
  CHECK(H5Pset_dxpl_mpio(how, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT) >= 0);
  hid_t dataset = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  CHECK(dataset >= 0);
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      data[row][column] = value(rowOf(rank, row, in_turns), column);
    }
  }
  hid_t rows = rowsOf(dataset, rank, in_turns);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, memory, rows, how, data) >= 0);
  H5Sclose(rows);
  CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
  MPI_Barrier(MPI_COMM_WORLD);
  const int other = (rank + 1) % ranks;
  rows = rowsOf(dataset, other, in_turns);
  memset(data, 0, sizeof data);
  CHECK(H5Dread(dataset, H5T_NATIVE_INT, memory, rows, how, data) >= 0);
  H5Sclose(rows);
  long sum = 0;
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      CHECK(data[row][column] == value(rowOf(other, row, in_turns), column));
      sum += data[row][column];
    }
  }
  H5Dclose(dataset);
  H5Pclose(how);
  H5Pclose(creation);
  H5Sclose(memory);
  H5Sclose(space);
  return sum;
}

// A dataset that all make longer together, and write by themselves.
static void extend(const char* path, hid_t access) {
  enum { kTurns = 6 };
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  CHECK(file >= 0);
  const hsize_t none[2] = {0, kColumns}, any[2] = {H5S_UNLIMITED, kColumns};
  const hsize_t chunk[2] = {kRows / 4, kColumns}, mine[2] = {kRows, kColumns};
  hid_t space = H5Screate_simple(2, none, any), memory = H5Screate_simple(2, mine, NULL);
  hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_obj_track_times(creation, 0) >= 0 && H5Pset_chunk(creation, 2, chunk) >= 0);
  hid_t data_set =
      H5Dcreate2(file, "log", H5T_NATIVE_INT, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  CHECK(data_set >= 0);
  for (int turn = 0; turn < kTurns; ++turn) {
    const hsize_t extent[2] = {(hsize_t)((turn + 1) * ranks * kRows), kColumns};
    CHECK(H5Dset_extent(data_set, extent) >= 0);
    for (int row = 0; row < kRows; ++row) {
      for (int column = 0; column < kColumns; ++column) data[row][column] = value(row, column);
    }
    hid_t rows = rowsOf(data_set, turn * ranks + rank, 0);
    CHECK(H5Dwrite(data_set, H5T_NATIVE_INT, memory, rows, H5P_DEFAULT, data) >= 0);
    H5Sclose(rows);
  }
  H5Dclose(data_set);
  H5Pclose(creation);
  H5Sclose(space);
  CHECK(H5Fclose(file) >= 0);
  MPI_Barrier(MPI_COMM_WORLD);
  file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(file >= 0);
  data_set = H5Dopen2(file, "log", H5P_DEFAULT);
  hid_t rows = rowsOf(data_set, (rank + 1) % (kTurns * ranks), 0);
  CHECK(H5Dread(data_set, H5T_NATIVE_INT, memory, rows, H5P_DEFAULT, data) >= 0);
  CHECK(data[1][1] == value(1, 1));
  H5Sclose(rows);
  H5Sclose(memory);
  H5Dclose(data_set);
  CHECK(H5Fclose(file) >= 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc == 2 || argc == 3);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
  if (argc == 3) {
    CHECK(H5Pset_coll_metadata_write(access, 1) >= 0 &&
          H5Pset_all_coll_metadata_ops(access, 1) >= 0);
  }
  if (argc == 3 && strcmp(argv[2], "extend") == 0) {
    extend(argv[1], access);
    H5Pclose(access);
    MPI_Finalize();
    return 0;
  }
  hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  CHECK(file >= 0);
  long sum = transfer(file, "turns", 1, 1, 0);
  sum += transfer(file, "blocks", 0, 0, 0);
  sum += transfer(file, "chunks", 1, 1, 1);
  H5Pclose(access);
  CHECK(H5Fclose(file) >= 0);
  if (rank == 0) printf("%zu bytes\n", 3 * sizeof data * (size_t)ranks);
  printf("rank %d read %ld\n", rank, sum);
  MPI_Finalize();
  return 0;
}
