// Metadata in the manner of mdtest: steps between barriers, in which each rank makes, looks at,
// opens, renames and removes ITEMS names.
//
//   c_metadata DIR own|shared|cycle|data ITEMS [timed]
//
//   own     each rank in a directory of its own, DIR/rank.R
//   shared  all ranks in DIR/all, which rank 0 makes
//   cycle   as own, but each file is opened, looked at, closed and removed before the next
//   data    as shared, and each rank writes a file between the steps, and changes its mode
//
// Rank 0 prints how often all ranks called each function, a line each: "mkdir 4"; with `timed` also
// the microseconds that the rank which spent most has spent in all of them: "io_us 840".
#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "ranks.h"

enum { kMostPath = 4096, kArguments = 4, kBlocks = 4, kBlock = 65536 };

static int is_timed;
static double began, in_calls;

static void begin(void) {
  if (is_timed) began = MPI_Wtime();
}

// All ranks have them in this order.
static const char* const kCalls[] = {"chmod",  "close", "fsync", "mkdir",  "open",
                                     "rename", "rmdir", "stat",  "unlink", "write"};
enum { kCallCount = sizeof kCalls / sizeof kCalls[0] };
static long long counts[kCallCount];

static int counted(const char* call, int result) {
  if (is_timed) in_calls += MPI_Wtime() - began;
  CHECK(result >= 0);
  int i = 0;
  while (i < kCallCount && strcmp(kCalls[i], call) != 0) ++i;
  CHECK(i < kCallCount);
  counts[i] += 1;
  return result;
}

// The arguments are ready before: what makes them is not timed.
#define CALL(function, ...) (begin(), counted(#function, (int)function(__VA_ARGS__)))

static const char* named(const char* directory, const char* kind, int rank, int item) {
  static char path[2][kMostPath];
  static int turn = 0;
  turn = 1 - turn;
  snprintf(path[turn], sizeof path[turn], "%s/%s.%d.%d", directory, kind, rank, item);
  return path[turn];
}

static void makeFiles(const char* directory, int rank, int items) {
  for (int i = 0; i < items; ++i) {
    const char* path = named(directory, "file", rank, i);
    const int fd = CALL(open, path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    CALL(close, fd);
  }
}

static void writeFile(const char* directory, int rank) {
  static char block[kBlock];
  memset(block, 'a' + rank % 26, sizeof block);
  const char* path = named(directory, "data", rank, 0);
  const int fd = CALL(open, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  for (int i = 0; i < kBlocks; ++i) CALL(write, fd, block, sizeof block);
  CALL(fsync, fd);
  CALL(close, fd);
  CALL(chmod, path, 0600);
}

static void steps(const char* directory, int rank, int items, int with_data) {
  struct stat about;
  makeFiles(directory, rank, items);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < items; ++i) {
    const char* path = named(directory, "file", rank, i);
    CALL(stat, path, &about);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (with_data) writeFile(directory, rank);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < items; ++i) {
    const char* path = named(directory, "file", rank, i);
    const int fd = CALL(open, path, O_RDONLY);
    CALL(close, fd);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < items; ++i) {
    const char* from = named(directory, "file", rank, i);
    const char* to = named(directory, "moved", rank, i);
    CALL(rename, from, to);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < items; ++i) {
    const char* path = named(directory, "moved", rank, i);
    CALL(unlink, path);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < items; ++i) {
    const char* path = named(directory, "dir", rank, i);
    CALL(mkdir, path, 0755);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < items; ++i) {
    const char* path = named(directory, "dir", rank, i);
    CALL(rmdir, path);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (with_data) {
    const char* path = named(directory, "data", rank, 0);
    CALL(unlink, path);
  }
}

static void cycles(const char* directory, int rank, int items) {
  struct stat about;
  for (int i = 0; i < items; ++i) {
    const char* path = named(directory, "file", rank, i);
    const int fd = CALL(open, path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    CALL(stat, path, &about);
    CALL(close, fd);
    CALL(unlink, path);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int ranks = 0;
  const int rank = beginRanks(&argc, &argv, &ranks);
  is_timed = argc == kArguments + 1 && strcmp(argv[kArguments], "timed") == 0;
  CHECK(argc == kArguments + is_timed);
  const char* mode = argv[2];
  const int items = atoi(argv[3]);
  const int is_own = strcmp(mode, "own") == 0 || strcmp(mode, "cycle") == 0;
  char directory[kMostPath];
  if (is_own) {
    snprintf(directory, sizeof directory, "%s/rank.%d", argv[1], rank);
  } else {
    snprintf(directory, sizeof directory, "%s/all", argv[1]);
  }
  if (is_own || rank == 0) CALL(mkdir, directory, 0755);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(mode, "cycle") == 0) {
    cycles(directory, rank, items);
  } else {
    steps(directory, rank, items, strcmp(mode, "data") == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_own || rank == 0) CALL(rmdir, directory);
  for (int i = 0; i < kCallCount; ++i) {
    long long all = 0;
    MPI_Reduce(&counts[i], &all, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && all > 0) printf("%s %lld\n", kCalls[i], all);
  }
  double longest = 0;
  MPI_Reduce(&in_calls, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0 && is_timed) printf("io_us %.0f\n", longest * 1e6);
  MPI_Finalize();
  return 0;
}
