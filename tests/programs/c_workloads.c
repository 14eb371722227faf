// Small MPI programs whose I/O time hangs on the storage and on each other. One program, many
// workloads:
//
//   c_workloads NAME [FACTOR]       in the directory where its files go
//
// FACTOR multiplies the number of rounds. Each computes by sleeping for fixed times, so that the
// time beside I/O is the same on each storage. Rank 0 prints the time in seconds from the first
// call of I/O of any rank to the end of the last. A workload that finds files has another beside it
// which makes them, as `restart-files` does for `restart`.
#include "c_workloads.h"

#include <sched.h>
#include <time.h>

int rank, ranks, rounds;
char block[16 * kBlock];
static double first = -1, last;

// Sleeps end late, and the later the longer the machine has been idle, which depends on the
// storage: the last bit is not slept.
void pauseFor(double milliseconds) {
  const double end = MPI_Wtime() + milliseconds / 1e3;
  const double slept = milliseconds * 1e6 - 1e5;  // ns
  if (slept > 0) {
    const struct timespec time = {(time_t)(slept / 1e9),
                                  (long)(slept - 1e9 * (double)(time_t)(slept / 1e9))};
    nanosleep(&time, NULL);
  }
  while (MPI_Wtime() < end) sched_yield();
}

void begin(void) {
  if (first < 0) first = MPI_Wtime();
}

void end(void) { last = MPI_Wtime(); }

int openFile(const char* name, int flags) {
  begin();
  const int fd = open(name, flags, 0644);
  CHECK(fd >= 0);
  return fd;
}

void put(int fd, off_t offset, size_t size) {
  CHECK(pwrite(fd, block, size, offset) == (ssize_t)size);
}

void getInto(char* into, int fd, off_t offset, size_t size) {
  CHECK(pread(fd, into, size, offset) == (ssize_t)size);
}

void get(int fd, off_t offset, size_t size) { getInto(block, fd, offset, size); }

void closeFile(int fd) {
  CHECK(close(fd) == 0);
  end();
}

const char* own(const char* stem) {
  static char name[64];
  snprintf(name, sizeof name, "%s.%d", stem, rank);
  return name;
}

void warmMpiIo(void) {
  MPI_File file;
  CHECK(MPI_File_open(MPI_COMM_WORLD, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
        MPI_SUCCESS);
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

// Each rank computes, all wait for each other, and each writes a file of its own.
static void checkpoint(void) {
  for (int round = 0; round < 4 * rounds; ++round) {
    pauseFor(1);
    MPI_Barrier(MPI_COMM_WORLD);
    char name[64];
    snprintf(name, sizeof name, "checkpoint.%d.%d", round, rank);
    const int fd = openFile(name, O_WRONLY | O_CREAT | O_TRUNC);
    for (int i = 0; i < 8; ++i) put(fd, (off_t)i * kBlock, kBlock);
    CHECK(fsync(fd) == 0);
    closeFile(fd);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// All write into one file by turns, with a barrier after each round.
static void strided(void) {
  const int fd = openFile("strided", O_RDWR | O_CREAT);
  for (int round = 0; round < 20 * rounds; ++round) {
    pauseFor(0.1);
    put(fd, ((off_t)round * ranks + rank) * kBlock, kBlock);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  closeFile(fd);
}

// One writes at a time: the permission to write goes round. Each reads what the one before wrote.
static void token(void) {
  const int fd = openFile("token", O_RDWR | O_CREAT);
  int value = 0;
  for (int round = 0; round < 10 * rounds; ++round) {
    if (rank > 0 || round > 0) {
      MPI_Recv(&value, 1, MPI_INT, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    }
    // The block of the rank before has to be there.
    const off_t turn = (off_t)round * ranks + rank;
    if (turn > 0) get(fd, (turn - 1) * kBlock, kBlock);
    pauseFor(0.075);
    put(fd, turn * kBlock, kBlock);
    if (rank < ranks - 1 || round < 10 * rounds - 1) {
      MPI_Send(&value, 1, MPI_INT, (rank + 1) % ranks, 1, MPI_COMM_WORLD);
    }
  }
  closeFile(fd);
}

// Rank 0 writes pieces and announces them; the others read them.
static void pipeline(void) {
  const int fd = openFile("pipeline", O_RDWR | O_CREAT);
  for (int round = 0; round < 20 * rounds; ++round) {
    if (rank == 0) {
      pauseFor(0.2);
      put(fd, (off_t)round * kBlock, kBlock);
      for (int to = 1; to < ranks; ++to) MPI_Send(&round, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
    } else {
      int got;
      MPI_Recv(&got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      get(fd, (off_t)got * kBlock, kBlock);
      pauseFor(0.2);
    }
  }
  closeFile(fd);
}

// Many small files are made, looked at, renamed and removed.
static void metadata(void) {
  begin();
  CHECK(mkdir(own("many"), 0755) == 0);
  for (int i = 0; i < 40 * rounds; ++i) {
    char name[96], other[96];
    snprintf(name, sizeof name, "%s/f%d", own("many"), i);
    snprintf(other, sizeof other, "%s/g%d", own("many"), i);
    const int fd = openFile(name, O_WRONLY | O_CREAT | O_EXCL);
    put(fd, 0, 512);
    closeFile(fd);
    struct stat status;
    CHECK(stat(name, &status) == 0 && status.st_size == 512);
    CHECK(rename(name, other) == 0);
    if (i % 2 == 0) CHECK(unlink(other) == 0);
    pauseFor(0.5);
  }
  end();
}

// All send their results to rank 0, which writes them.
static void collector(void) {
  const int fd = rank == 0 ? openFile("collector", O_RDWR | O_CREAT) : -1;
  for (int round = 0; round < 15 * rounds; ++round) {
    pauseFor(0.2 * (1 + rank));
    if (rank != 0) {
      MPI_Send(block, kBlock, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    } else {
      for (int from = 1; from < ranks; ++from) {
        MPI_Recv(block, kBlock, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        put(fd, ((off_t)round * ranks + from) * kBlock, kBlock);
      }
      put(fd, (off_t)round * ranks * kBlock, kBlock);  // its own
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (fd >= 0) closeFile(fd);
}

// Rank 0 writes eight times as much as the others, who wait for it.
static void imbalance(void) {
  const int fd = openFile(own("imbalance"), O_RDWR | O_CREAT);
  for (int round = 0; round < 8 * rounds; ++round) {
    const int blocks = rank == 0 ? 8 : 1;
    for (int i = 0; i < blocks; ++i) put(fd, ((off_t)round * 8 + i) * kBlock, kBlock);
    pauseFor(0.4);
    double sum = 1, total;
    MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  closeFile(fd);
}

// All write one file by collective MPI-IO.
static void collective(void) {
  warmMpiIo();
  MPI_File file;
  begin();
  CHECK(MPI_File_open(MPI_COMM_WORLD, "collective", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS);
  for (int round = 0; round < 8 * rounds; ++round) {
    pauseFor(0.4);
    CHECK(MPI_File_write_at_all(file, ((MPI_Offset)round * ranks + rank) * kBlock, block, kBlock,
                                MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  end();
}

int main(int count, char** words) {
  int provided;
  MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  static const struct {
    const char* name;
    void (*run)(void);
  } workloads[] = {{"checkpoint", checkpoint}, {"strided", strided},
                   {"token", token},           {"pipeline", pipeline},
                   {"metadata", metadata},     {"collector", collector},
                   {"imbalance", imbalance},   {"collective", collective},
                   {"small", smallFiles},      {"append", appendLog},
                   {"holes", holes},           {"restart-files", restartFiles},
                   {"restart", restartRead},   {"commit", renameCommit},
                   {"sleepers", sleepers},     {"readahead-files", readAheadFiles},
                   {"readahead", readAhead},   {"overlapped", overlapped},
                   {"madbench", outOfCore},    {"btio", blockSteps}};
  rounds = count > 2 ? atoi(words[2]) : 1;
  int known = 0;
  for (size_t i = 0; count > 1 && i < sizeof workloads / sizeof *workloads; ++i) {
    if (strcmp(words[1], workloads[i].name) != 0) continue;
    known = 1;
    memset(block, 'x', sizeof block);
    MPI_Barrier(MPI_COMM_WORLD);
    workloads[i].run();
  }
  CHECK(known);
  double begun = first < 0 ? 1e300 : first, earliest, latest;
  MPI_Allreduce(&begun, &earliest, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&last, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) printf("%.6f\n", latest - earliest);
  MPI_Finalize();
  return 0;
}
