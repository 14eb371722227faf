// Thirty variables through HDF5, each written and read from its own line of code, in several turns:
// how many call stacks the tracer tells apart. Functions lie at different depths, one of them has
// an array of variable length, so that its frame has no fixed size.
//
//   c_stacks_hdf5 FILE contiguous|deflate [LEVELS]             with the serial HDF5
//   mpirun -n N c_stacks_hdf5_parallel FILE collective|independent [LEVELS]
//
// deflate: chunks that are compressed, without a cache, so that each call writes its chunk. LEVELS:
// how many frames ten of the variables are written below, 5 by default.
#include <hdf5.h>
#ifdef STACKS_WITH_MPI
#include <mpi.h>
#endif

#include "stacks_variables.h"

#define H5(call) CHECK((call) >= 0)

static int rank, ranks = 1, levels = 5;
static hid_t file, how = H5P_DEFAULT;
static hid_t sets[kVariables], rows[kVariables], memory[kVariables];

static void define(int variable, int is_deflated) {
  const hsize_t elements = (hsize_t)elementsOf(variable);
  const hsize_t extent[2] = {kTurns, elements * (hsize_t)ranks}, chunk[2] = {1, elements};
  hid_t creation = H5Pcreate(H5P_DATASET_CREATE), access = H5Pcreate(H5P_DATASET_ACCESS);
  H5(H5Pset_obj_track_times(creation, 0));  // else no two runs write the same
  if (is_deflated) {
    H5(H5Pset_chunk(creation, 2, chunk));
    H5(H5Pset_deflate(creation, 1));
    H5(H5Pset_chunk_cache(access, 0, 0, 1));
  }
  char name[16];
  snprintf(name, sizeof name, "v%02d", variable);
  rows[variable] = H5Screate_simple(2, extent, NULL);
  memory[variable] = H5Screate_simple(1, &elements, NULL);
  sets[variable] =
      H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, rows[variable], H5P_DEFAULT, creation, access);
  H5(sets[variable]);
  H5Pclose(creation);
  H5Pclose(access);
}

static hid_t rowOf(int variable, int turn) {
  const hsize_t elements = (hsize_t)elementsOf(variable);
  const hsize_t start[2] = {(hsize_t)turn, (hsize_t)rank * elements}, count[2] = {1, elements};
  H5(H5Sselect_hyperslab(rows[variable], H5S_SELECT_SET, start, NULL, count, NULL));
  return rows[variable];
}

#define WRITE(v) \
  H5(H5Dwrite(sets[v], H5T_NATIVE_DOUBLE, memory[v], rowOf(v, turn), how, filled(v, turn, rank)));
#define READ(v)                                                                        \
  H5(H5Dread(sets[v], H5T_NATIVE_DOUBLE, memory[v], rowOf(v, turn), how, emptied(v))); \
  checkRead(v, turn, rank);

OWN_FRAME static void writeFields(int turn){FIELDS(WRITE)}

// Deeper than the frames that are kept.
OWN_FRAME static void writeParticles(int turn, int above) {
  if (above > 0) {
    writeParticles(turn, above - 1);
    KEEP_FRAME;
    return;
  }
  PARTICLES(WRITE)
}

// A frame without a fixed size has the frame pointer's register even where others have none.
OWN_FRAME static double writeDiagnostics(int turn, int elements) {
  double sums[elements];
  for (int i = 0; i < elements; ++i) sums[i] = turn + i;
  DIAGNOSTICS(WRITE)
  return sums[turn % elements];
}

OWN_FRAME static void writeTurn(int turn) {
  writeFields(turn);
  writeParticles(turn, levels);
  CHECK(writeDiagnostics(turn, 3 + turn) >= turn);
}

OWN_FRAME static void readTurn(int turn) {
  FIELDS(READ)
  PARTICLES(READ)
  DIAGNOSTICS(READ)
}

static void closeAll(void) {
  for (int i = 0; i < kVariables; ++i) {
    H5Sclose(rows[i]);
    H5Sclose(memory[i]);
    H5Dclose(sets[i]);
  }
  H5(H5Fclose(file));
}

static void openAll(const char* path, hid_t access) {
  file = H5Fopen(path, H5F_ACC_RDONLY, access);
  H5(file);
  for (int i = 0; i < kVariables; ++i) {
    char name[16];
    snprintf(name, sizeof name, "v%02d", i);
    sets[i] = H5Dopen2(file, name, H5P_DEFAULT);
    H5(sets[i]);
    const hsize_t elements = (hsize_t)elementsOf(i);
    rows[i] = H5Dget_space(sets[i]);
    memory[i] = H5Screate_simple(1, &elements, NULL);
  }
}

int main(int argc, char** argv) {
  CHECK(argc == 3 || argc == 4);
  if (argc == 4) levels = atoi(argv[3]);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5(H5Pset_sieve_buf_size(access, 1));  // else small parts are written when the file is closed
#ifdef STACKS_WITH_MPI
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  H5(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
  how = H5Pcreate(H5P_DATASET_XFER);
  H5(H5Pset_dxpl_mpio(
      how, strcmp(argv[2], "collective") == 0 ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT));
#endif
  file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5(file);
  for (int i = 0; i < kVariables; ++i) define(i, strcmp(argv[2], "deflate") == 0);
  for (int turn = 0; turn < turnsOfRun(); ++turn) writeTurn(turn);
  closeAll();
  openAll(argv[1], access);
  for (int turn = 0; turn < turnsOfRun(); ++turn) readTurn(turn);
  closeAll();
  H5Pclose(access);
  if (rank == 0) printf("%d variables\n", kVariables);
#ifdef STACKS_WITH_MPI
  H5Pclose(how);
  MPI_Finalize();
#endif
  return 0;
}
