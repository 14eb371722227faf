// Ranks that race for names, and for the sizes of files: nothing but the storage decides who wins.
//
//   mpirun -n N c_races names|sizes ROUNDS
//
// names: mkdir, O_EXCL, link, symlink, rename, unlink and rmdir of the same name by all ranks.
// sizes: each rank extends a file of all ranks, and looks at its end in several ways meanwhile.
// Prints how many calls were lost, or how many looks found less than the whole file.
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

// Blocks are pages: a longer write extends the file page by page, and who looks meanwhile sees a
// size that no order of whole calls has.
enum { kBlock = 4096, kBlocks = 6 };

static int rank, ranks;
static long lost;

static void won(int status) { lost += status < 0; }

// Barriers let the ranks begin each race together; they order nothing within one.
static void raceForNames(int round) {
  char name[64], own[96], moved[64];
  MPI_Barrier(MPI_COMM_WORLD);
  snprintf(name, sizeof name, "directory.%d", round);
  won(mkdir(name, 0755));
  snprintf(own, sizeof own, "%s/of.%d", name, rank);
  // The name of the directory is there: this rank made it, or was told so.
  int fd = open(own, O_CREAT | O_EXCL | O_WRONLY, 0644);
  CHECK(fd >= 0 && close(fd) == 0);
  snprintf(name, sizeof name, "file.%d", round);
  fd = open(name, O_RDONLY);
  won(fd);
  if (fd >= 0) CHECK(close(fd) == 0);
  fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
  won(fd);
  if (fd >= 0) CHECK(close(fd) == 0);
  snprintf(moved, sizeof moved, "link.%d", round);
  won(link(own, moved));
  snprintf(moved, sizeof moved, "symlink.%d", round);
  won(symlink(own, moved));
  snprintf(moved, sizeof moved, "moved.%d", round);
  won(rename(name, moved));
  won(access(moved, F_OK));
  MPI_Barrier(MPI_COMM_WORLD);
  won(unlink(moved));
  won(access(moved, F_OK));
  CHECK(unlink(own) == 0);
  snprintf(name, sizeof name, "directory.%d", round);
  won(rmdir(name));
}

static void raceForSizes(int round) {
  char name[64], data[kBlock * 4];
  memset(data, 'x', sizeof data);
  snprintf(name, sizeof name, "grown.%d", round);
  MPI_Barrier(MPI_COMM_WORLD);
  int fd = open(name, O_CREAT | O_RDWR | (rank == 0 ? O_TRUNC : 0), 0644);
  CHECK(fd >= 0);
  // Those that truncate do it before anyone writes.
  MPI_Barrier(MPI_COMM_WORLD);
  for (int block = 0; block < kBlocks; ++block) {
    const off_t at = (off_t)(block * ranks + rank) * kBlock;
    CHECK(pwrite(fd, data, kBlock, at) == kBlock);
    const int next = (rank + 1 + block) % ranks;
    const ssize_t got = pread(fd, data, sizeof data, (off_t)(block * ranks + next) * kBlock);
    CHECK(got >= 0);
    lost += got < (ssize_t)sizeof data;
    lost += lseek(fd, 0, SEEK_END) < (off_t)(block + 1) * ranks * kBlock;
    if (rank == 1 && block == kBlocks / 2) {
      CHECK(ftruncate(fd, (off_t)(kBlocks + 1) * ranks * kBlock) == 0);
    }
  }
  CHECK(close(fd) == 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc == 3);
  const int of_names = strcmp(argv[1], "names") == 0;
  for (int round = 0; round < atoi(argv[2]); ++round) {
    if (of_names) {
      raceForNames(round);
    } else {
      raceForSizes(round);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  long all = 0;
  MPI_Reduce(&lost, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%ld\n", all);
  MPI_Finalize();
  return 0;
}
