// A run on tiers of storage: inputs of all, a disk of each node, scratch and home.
//
//   c_tiers NODE INPUT SCRATCH HOME STEPS
//
// NODE has a file "in" on each node, of another size on each. INPUT has "mesh", with a piece for
// each rank and step, and "table". In each step, each rank reads its piece of the mesh, the table
// and the node's input, writes NODE/cache.RANK anew and reads it, adds a piece to SCRATCH/out.RANK,
// and writes its piece of SCRATCH/all; the first rank then adds a line to HOME/run.log, and writes
// HOME/state.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include "check.h"
#include "ranks.h"

enum { kPiece = 65536, kCache = 1000, kLine = 64, kState = 500 };

static char buffer[1 << 20];

static ssize_t readAll(const char* directory, const char* name) {
  PATH(path, directory, name);
  const int fd = open(path, O_RDONLY);
  CHECK(fd >= 0);
  const ssize_t bytes = read(fd, buffer, sizeof buffer);
  CHECK(bytes > 0 && close(fd) == 0);
  return bytes;
}

static void writeAnew(const char* directory, const char* name, int flags, size_t bytes) {
  PATH(path, directory, name);
  const int fd = open(path, O_WRONLY | O_CREAT | flags, 0644);
  CHECK(fd >= 0 && write(fd, buffer, bytes) == (ssize_t)bytes && close(fd) == 0);
}

int main(int argc, char** argv) {
  int ranks = 0;
  const int rank = beginRanks(&argc, &argv, &ranks);
  CHECK(argc == 6);
  const char *const node = argv[1], *const input = argv[2], *const scratch = argv[3];
  const int steps = atoi(argv[5]);
  char cache[32], out_name[32];
  snprintf(cache, sizeof cache, "cache.%d", rank);
  snprintf(out_name, sizeof out_name, "out.%d", rank);
  PATH(mesh_path, input, "mesh");
  PATH(out_path, scratch, out_name);
  PATH(all_path, scratch, "all");
  const int mesh = open(mesh_path, O_RDONLY);
  const int out = open(out_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int all = open(all_path, O_WRONLY | O_CREAT, 0644);
  CHECK(mesh >= 0 && out >= 0 && all >= 0);
  for (int step = 0; step < steps; ++step) {
    // The calls of two steps are apart in time, so that a window of time has one of them.
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(1000);
    MPI_Barrier(MPI_COMM_WORLD);
    const off_t piece = ((off_t)step * ranks + rank) * kPiece;
    CHECK(pread(mesh, buffer, kPiece, piece) == kPiece);
    readAll(input, "table");
    readAll(node, "in");
    writeAnew(node, cache, O_TRUNC, kCache + (size_t)rank);
    CHECK(readAll(node, cache) == kCache + rank);
    CHECK(write(out, buffer, kPiece) == kPiece && pwrite(all, buffer, kPiece, piece) == kPiece);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) continue;
    writeAnew(argv[4], "run.log", O_APPEND, kLine);
    writeAnew(argv[4], "state", O_TRUNC, kState);
  }
  CHECK(close(mesh) == 0 && close(out) == 0 && close(all) == 0);
  MPI_Finalize();
  return 0;
}
