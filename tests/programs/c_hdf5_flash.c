// The I/O of FLASH, by the calls that it makes it with: checkpoints and plot files in parallel
// HDF5. The data is made up.
//
//   mpirun -n N c_hdf5_flash BLOCKS STEPS [PAUSE_MS]      in the directory where its files go
//
// Each rank has BLOCKS blocks of 8 * 8 * 8 cells. A step writes a checkpoint, with a dataset of all
// blocks for each of 24 unknowns and those of the block tree, and a plot file, with four unknowns
// in single precision. All transfers are collective, as FLASH makes them. In the end the ranks read
// the last checkpoint, as a restart does.
//
// It computes PAUSE_MS between two steps (asleep).
#include <hdf5.h>
#include <math.h>
#include <mpi.h>
#include <time.h>

#include "check.h"

enum { kUnknowns = 24, kPlotted = 4, kEdge = 8, kCells = kEdge * kEdge * kEdge };

static int rank, ranks;
static hsize_t blocks;  // of a rank
static double pause_ms;

static void compute(void) {
  const struct timespec time = {(time_t)(pause_ms / 1e3), (long)(fmod(pause_ms, 1e3) * 1e6)};
  if (pause_ms > 0) nanosleep(&time, NULL);
}

// A dataset over the blocks of all ranks. Each rank writes or reads those that are its own; `shape`
// is that of one block.
static void transfer(hid_t file, const char* name, hid_t type, int dimensions, const hsize_t* shape,
                     void* data, int reads) {
  hsize_t whole[4] = {blocks * (hsize_t)ranks}, part[4] = {blocks},
          start[4] = {blocks * (hsize_t)rank};
  for (int i = 0; i < dimensions; ++i) whole[i + 1] = part[i + 1] = shape[i];
  hid_t space = H5Screate_simple(dimensions + 1, whole, NULL);
  hid_t memory = H5Screate_simple(dimensions + 1, part, NULL);
  hid_t creation = H5Pcreate(H5P_DATASET_CREATE), how = H5Pcreate(H5P_DATASET_XFER);
  CHECK(H5Pset_obj_track_times(creation, 0) >= 0);  // else no two runs write the same
  CHECK(H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE) >= 0);
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part, NULL) >= 0);
  hid_t dataset = reads ? H5Dopen2(file, name, H5P_DEFAULT)
                        : H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  CHECK(dataset >= 0);
  CHECK((reads ? H5Dread(dataset, type, memory, space, how, data)
               : H5Dwrite(dataset, type, memory, space, how, data)) >= 0);
  H5Dclose(dataset);
  H5Pclose(how);
  H5Pclose(creation);
  H5Sclose(memory);
  H5Sclose(space);
}

static void blockTree(hid_t file, void* data, int reads) {
  const hsize_t neighbours = 15, corners[2] = {3, 2}, place = 3;
  transfer(file, "refine level", H5T_NATIVE_INT, 0, NULL, data, reads);
  transfer(file, "node type", H5T_NATIVE_INT, 0, NULL, data, reads);
  transfer(file, "gid", H5T_NATIVE_INT, 1, &neighbours, data, reads);
  transfer(file, "coordinates", H5T_NATIVE_DOUBLE, 1, &place, data, reads);
  transfer(file, "block size", H5T_NATIVE_DOUBLE, 1, &place, data, reads);
  transfer(file, "bounding box", H5T_NATIVE_DOUBLE, 2, corners, data, reads);
}

static void unknowns(hid_t file, int number, hid_t type, void* data, int reads) {
  const hsize_t cells[3] = {kEdge, kEdge, kEdge};
  for (int i = 0; i < number; ++i) {
    char name[16];
    snprintf(name, sizeof name, "u%02d", i);
    transfer(file, name, type, 3, cells, data, reads);
  }
}

static hid_t opened(const char* kind, long step, int reads) {
  char name[64];
  snprintf(name, sizeof name, "flash_hdf5_%s_%04ld", kind, step);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
  hid_t file = reads ? H5Fopen(name, H5F_ACC_RDONLY, access)
                     : H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  CHECK(file >= 0);
  H5Pclose(access);
  return file;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc == 3 || argc == 4);
  blocks = (hsize_t)atol(argv[1]);
  const long steps = atol(argv[2]);
  pause_ms = argc == 4 ? atof(argv[3]) : 0;
  CHECK(blocks > 0 && steps > 0);
  double* data = malloc(blocks * kCells * sizeof *data);
  CHECK(data != NULL);
  for (hsize_t i = 0; i < blocks * kCells; ++i) data[i] = (double)i * 0.37 + rank;
  for (long step = 0; step < steps; ++step) {
    compute();
    hid_t file = opened("chk", step, 0);
    blockTree(file, data, 0);
    unknowns(file, kUnknowns, H5T_NATIVE_DOUBLE, data, 0);
    CHECK(H5Fclose(file) >= 0);
    file = opened("plt", step, 0);
    blockTree(file, data, 0);
    unknowns(file, kPlotted, H5T_NATIVE_FLOAT, data, 0);
    CHECK(H5Fclose(file) >= 0);
  }
  hid_t file = opened("chk", steps - 1, 1);
  unknowns(file, kUnknowns, H5T_NATIVE_DOUBLE, data, 1);
  blockTree(file, data, 1);
  CHECK(H5Fclose(file) >= 0);
  free(data);
  MPI_Finalize();
  return 0;
}
