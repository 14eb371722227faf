// Writes variables in chunks that HDF5 compresses with gzip, as simulations do; for predictions.
//
//   c_hdf5_gzip MODE TURNS      in the directory where its files go
//
//   same         a file each turn, with a dataset for each of 30 variables: the same data each turn
//   varying      the same, with other data each turn, so that chunks have other sizes
//   restart      a file each turn, as in "varying", that is closed, opened again and read
//   appended     one file, whose datasets grow by rows of chunks each turn
//   flushed      the same, and the file is flushed after each turn
//   rewritten    one file, whose datasets are written again each turn, with other data: a chunk
//                whose size changes is moved
//   parallel     as "varying", but all ranks write each dataset, collectively
//
// Each variable is written from a place of its own in the program, and has one to three chunks in a
// turn. `parallel` is there where the program was built with parallel HDF5.
#include <hdf5.h>
#ifdef H5_HAVE_PARALLEL
#include <mpi.h>
#endif

#include "check.h"

enum { kMostChunks = 3, kChunkRows = 32, kColumns = 256, kLevel = 6 };

static int rank, ranks = 1;
static long turns;
static float data[kMostChunks * kChunkRows * kColumns];
static hid_t access_list = H5P_DEFAULT;
static hid_t transfer_list = H5P_DEFAULT;

static unsigned mixed(unsigned value) {
  value ^= value >> 16;
  value *= 0x7feb352dU;
  value ^= value >> 15;
  value *= 0x846ca68bU;
  return value ^ value >> 16;
}

// The rows of a variable that a rank writes in a turn.
static hsize_t rowsOf(int variable) {
  return (hsize_t)kChunkRows * (1 + (hsize_t)variable % kMostChunks);
}

// A field of which a part, another one for each variable, is noise.
static void fill(int variable, long turn) {
  const unsigned noisy = 1 + (unsigned)variable % 5;
  for (unsigned i = 0; i < sizeof data / sizeof *data; ++i) {
    const unsigned draw = mixed(i + 16411U * ((unsigned)variable + 32U * (unsigned)turn) +
                                2654435761U * (unsigned)rank);
    const unsigned smooth = i / kColumns / 4 + (unsigned)variable;
    data[i] = (float)smooth + (draw % 8 < noisy ? (float)(draw >> 8 & 255) / 256.0F : 0.0F);
  }
}

static hid_t createFile(const char* name) {
  const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access_list);
  CHECK(file >= 0);
  return file;
}

static hid_t createDataset(hid_t file, int variable, int grows) {
  const hsize_t shape[2] = {grows ? 0 : rowsOf(variable) * (hsize_t)ranks, kColumns};
  const hsize_t most[2] = {grows ? H5S_UNLIMITED : shape[0], kColumns};
  const hsize_t chunk[2] = {kChunkRows, kColumns};
  char name[32];
  snprintf(name, sizeof name, "variable%02d", variable);
  const hid_t space = H5Screate_simple(2, shape, most);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(creation, 2, chunk) >= 0);
  CHECK(H5Pset_deflate(creation, kLevel) >= 0);
  CHECK(H5Pset_obj_track_times(creation, 0) >= 0);  // else no two runs write the same
  const hid_t dataset =
      H5Dcreate2(file, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  CHECK(dataset >= 0);
  H5Pclose(creation);
  H5Sclose(space);
  return dataset;
}

static hid_t openDataset(hid_t file, int variable) {
  char name[32];
  snprintf(name, sizeof name, "variable%02d", variable);
  const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  CHECK(dataset >= 0);
  return dataset;
}

// This rank's rows of the dataset, from `row` on.
static void transfer(hid_t dataset, int variable, hsize_t row, int reads) {
  const hsize_t start[2] = {row, 0}, part[2] = {rowsOf(variable), kColumns};
  const hid_t memory = H5Screate_simple(2, part, NULL);
  const hid_t space = H5Dget_space(dataset);
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part, NULL) >= 0);
  CHECK((reads ? H5Dread(dataset, H5T_NATIVE_FLOAT, memory, space, transfer_list, data)
               : H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, transfer_list, data)) >= 0);
  H5Sclose(space);
  H5Sclose(memory);
}

// Each operation below is of one variable in one turn.

static void create(hid_t file, int variable, long turn) {
  (void)turn;
  H5Dclose(createDataset(file, variable, 0));
}

static void createGrowing(hid_t file, int variable, long turn) {
  (void)turn;
  H5Dclose(createDataset(file, variable, 1));
}

static void createAndWrite(hid_t file, int variable, long turn) {
  const hid_t dataset = createDataset(file, variable, 0);
  fill(variable, turn);
  transfer(dataset, variable, (hsize_t)rank * rowsOf(variable), 0);
  H5Dclose(dataset);
}

static void writeAgain(hid_t file, int variable, long turn) {
  const hid_t dataset = openDataset(file, variable);
  fill(variable, turn);
  transfer(dataset, variable, 0, 0);
  H5Dclose(dataset);
}

static void append(hid_t file, int variable, long turn) {
  const hid_t dataset = openDataset(file, variable);
  const hsize_t before = rowsOf(variable) * (hsize_t)turn;
  const hsize_t shape[2] = {before + rowsOf(variable), kColumns};
  CHECK(H5Dset_extent(dataset, shape) >= 0);
  fill(variable, turn);
  transfer(dataset, variable, before, 0);
  H5Dclose(dataset);
}

static void readOne(hid_t file, int variable, long turn) {
  (void)turn;
  const hid_t dataset = openDataset(file, variable);
  transfer(dataset, variable, 0, 1);
  H5Dclose(dataset);
}

// All variables, each from a place of its own, as in a program that names them one by one.
static void eachVariable(void (*operation)(hid_t file, int variable, long turn), hid_t file,
                         long turn) {
#define ONE(variable) operation(file, variable, turn);
#define TEN(tens) \
  ONE((tens))     \
  ONE((tens) + 1) \
  ONE((tens) + 2) \
  ONE((tens) + 3) \
  ONE((tens) + 4) ONE((tens) + 5) ONE((tens) + 6) ONE((tens) + 7) ONE((tens) + 8) ONE((tens) + 9)
  TEN(0)
  TEN(10)
  TEN(20)
#undef TEN
#undef ONE
}

static void filesInTurn(int varies, int reads) {
  for (long turn = 0; turn < turns; ++turn) {
    char name[32];
    snprintf(name, sizeof name, "gzip.%04ld.h5", turn);
    hid_t file = createFile(name);
    eachVariable(createAndWrite, file, varies ? turn : 0);
    CHECK(H5Fclose(file) >= 0);
    if (!reads) continue;
    file = H5Fopen(name, H5F_ACC_RDONLY, access_list);
    CHECK(file >= 0);
    eachVariable(readOne, file, turn);
    CHECK(H5Fclose(file) >= 0);
  }
}

static void oneFile(int grows, int flushes) {
  const hid_t file = createFile("gzip.h5");
  eachVariable(grows ? createGrowing : create, file, 0);
  for (long turn = 0; turn < turns; ++turn) {
    eachVariable(grows ? append : writeAgain, file, turn);
    if (flushes) CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
  }
  CHECK(H5Fclose(file) >= 0);
}

static void parallel(int* argc, char*** argv) {
#ifdef H5_HAVE_PARALLEL
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  access_list = H5Pcreate(H5P_FILE_ACCESS);
  transfer_list = H5Pcreate(H5P_DATASET_XFER);
  CHECK(H5Pset_fapl_mpio(access_list, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
  CHECK(H5Pset_dxpl_mpio(transfer_list, H5FD_MPIO_COLLECTIVE) >= 0);
  filesInTurn(1, 0);
  H5Pclose(transfer_list);
  H5Pclose(access_list);
  MPI_Finalize();
#else
  (void)argc;
  (void)argv;
  CHECK(!"built with parallel HDF5");
#endif
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  const char* const mode = argv[1];
  turns = atol(argv[2]);
  CHECK(turns > 0);
  if (strcmp(mode, "same") == 0) {
    filesInTurn(0, 0);
  } else if (strcmp(mode, "varying") == 0) {
    filesInTurn(1, 0);
  } else if (strcmp(mode, "restart") == 0) {
    filesInTurn(1, 1);
  } else if (strcmp(mode, "appended") == 0) {
    oneFile(1, 0);
  } else if (strcmp(mode, "flushed") == 0) {
    oneFile(1, 1);
  } else if (strcmp(mode, "rewritten") == 0) {
    oneFile(0, 0);
  } else {
    CHECK(strcmp(mode, "parallel") == 0);
    parallel(&argc, &argv);
  }
  return 0;
}
