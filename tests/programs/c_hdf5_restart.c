// Writes variables in time steps with HDF5, and reads them for a restart in another order: variable
// by variable, from the last to the first, each over all steps; for bench/prefetch.py.
//
//   c_hdf5_restart write FILE [--variables N] [--steps N]
//   c_hdf5_restart read FILE [--variables N] [--steps N] [--compute-us N] [--busy LOOPS]
//                  [--ahead K]
//
// A variable has one chunk of 64 KiB a step, without compression. The file is flushed after each
// step, as simulations do, so that it has the chunks in the order of the steps: a restart reads one
// of each `variables` chunks, and HDF5's own small reads of its index between them.
#include <hdf5.h>

#include "timed_reads.h"

enum { kChunkBytes = 64 << 10, kWords = kChunkBytes / sizeof(uint64_t), kMaxVariables = 999 };

static long variables = 16, steps = 64;
static uint64_t data[kWords];

static void nameVariable(char* name, size_t bytes, long variable) {
  CHECK(snprintf(name, bytes, "variable%03ld", variable) < (int)bytes);
}

static hid_t createVariable(hid_t file, long variable) {
  const hsize_t shape[2] = {(hsize_t)steps, kWords}, chunk[2] = {1, kWords};
  char name[32];
  nameVariable(name, sizeof name, variable);
  const hid_t space = H5Screate_simple(2, shape, NULL);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(creation, 2, chunk) >= 0);
  CHECK(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER) >= 0);
  const hid_t dataset =
      H5Dcreate2(file, name, H5T_NATIVE_UINT64, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  CHECK(dataset >= 0);
  H5Pclose(creation);
  H5Sclose(space);
  return dataset;
}

static void transfer(hid_t dataset, long step, int reads) {
  const hsize_t start[2] = {(hsize_t)step, 0}, part[2] = {1, kWords};
  const hid_t memory = H5Screate_simple(2, part, NULL);
  const hid_t space = H5Dget_space(dataset);
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, part, NULL) >= 0);
  CHECK((reads ? H5Dread(dataset, H5T_NATIVE_UINT64, memory, space, H5P_DEFAULT, data)
               : H5Dwrite(dataset, H5T_NATIVE_UINT64, memory, space, H5P_DEFAULT, data)) >= 0);
  H5Sclose(space);
  H5Sclose(memory);
}

static void writeAll(const char* name) {
  static hid_t datasets[kMaxVariables];
  const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(file >= 0);
  for (long v = 0; v < variables; ++v) datasets[v] = createVariable(file, v);
  for (long step = 0; step < steps; ++step) {
    for (long v = 0; v < variables; ++v) {
      const uint64_t block = (uint64_t)(step * variables + v) << 16;
      for (uint64_t i = 0; i < kWords; ++i) data[i] = mixed(block + i);
      transfer(datasets[v], step, 0);
    }
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
  }
  for (long v = 0; v < variables; ++v) H5Dclose(datasets[v]);
  CHECK(H5Fclose(file) >= 0);
}

static hid_t openVariable(hid_t file, long variable) {
  char name[32];
  nameVariable(name, sizeof name, variable);
  const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  CHECK(dataset >= 0);
  return dataset;
}

// The offsets of all chunks in the order of the restart. HDF5 reads its index for that.
static haddr_t* chunkOffsets(hid_t file) {
  haddr_t* const offsets = malloc((size_t)(variables * steps) * sizeof *offsets);
  CHECK(offsets != NULL);
  for (long i = 0; i < variables * steps; ++i) {
    const hid_t dataset = openVariable(file, variables - 1 - i / steps);
    const hsize_t start[2] = {(hsize_t)(i % steps), 0};
    unsigned filters;
    hsize_t bytes;
    CHECK(H5Dget_chunk_info_by_coord(dataset, start, &filters, &offsets[i], &bytes) >= 0);
    H5Dclose(dataset);
  }
  return offsets;
}

static void readAll(const char* name) {
  uint64_t checksum = 0;
  double read_s = 0;
  const double begin = secondsNow();
  const hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(file >= 0);
  haddr_t* const offsets = ahead > 0 ? chunkOffsets(file) : NULL;
  const int fd = ahead > 0 ? open(name, O_RDONLY) : -1;
  hid_t dataset = -1;
  long advised = 1;
  for (long i = 0; i < variables * steps; ++i) {
    for (; ahead > 0 && advised < variables * steps && advised <= i + ahead; ++advised) {
      advise(fd, (off_t)offsets[advised], kChunkBytes);
    }
    const double before = secondsNow();
    if (i % steps == 0) dataset = openVariable(file, variables - 1 - i / steps);
    transfer(dataset, i % steps, 1);
    read_s += secondsNow() - before;
    checksum = extended(checksum, data, sizeof data);
    if (i % steps == steps - 1) H5Dclose(dataset);
    compute();
  }
  CHECK(H5Fclose(file) >= 0);
  report(variables * steps, secondsNow() - begin, read_s, checksum);
  if (fd >= 0) close(fd);
  free(offsets);
}

int main(int argc, char** argv) {
  static const struct NumberOption kOptions[] = {{"--variables", &variables}, {"--steps", &steps}};
  CHECK(argc >= 3);
  parseOptions(argv + 3, kOptions, 2);
  CHECK(variables > 0 && variables <= kMaxVariables && steps > 0);
  const int writes = strcmp(argv[1], "write") == 0;
  CHECK(writes || strcmp(argv[1], "read") == 0);
  (writes ? writeAll : readAll)(argv[2]);
  return 0;
}
