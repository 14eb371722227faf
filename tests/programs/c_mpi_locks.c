// Ranks that write under a lock, each into a part of its own, so nothing but the lock puts them
// into an order.
//
//   c_mpi_locks fcntl|ofd|flock|lockf|close|dup|exit
//
// The first four lock and unlock by these calls. Others let go of the lock by closing the file
// (fcntl), have it by a copy of the descriptor that is closed before the lock is given up (flock),
// or end a process that has it (fcntl).
//
// Rank 0 prints the ranks in the order in which they had the lock, one a line.
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                               \
  do {                                                                 \
    if (!(condition)) {                                                \
      fprintf(stderr, "c_mpi_locks.c:%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                    \
    }                                                                  \
  } while (0)

enum { kTurns = 25, kBytes = 1000 };

static void setLock(int fd, int command, int type) {
  struct flock part = {.l_type = (short)type, .l_whence = SEEK_SET, .l_start = 100, .l_len = 8};
  CHECK(fcntl(fd, command, &part) == 0);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static char data[kBytes];

// Returns when it had the lock.
static double writeAt(int fd, off_t offset) {
  const double time = now();
  CHECK(pwrite(fd, data, sizeof data, offset) == kBytes);
  return time;
}

static int opened(void) {
  const int fd = open("locked", O_RDWR | O_CREAT, 0644);
  CHECK(fd >= 0);
  return fd;
}

static double turn(const char* how, int fd, off_t offset) {
  double time = 0;
  if (strcmp(how, "flock") == 0) {
    CHECK(flock(fd, LOCK_EX) == 0);
    time = writeAt(fd, offset);
    CHECK(flock(fd, LOCK_UN) == 0);
  } else if (strcmp(how, "lockf") == 0) {
    CHECK(lseek(fd, 100, SEEK_SET) == 100);
    CHECK(lockf(fd, F_LOCK, 8) == 0);
    time = writeAt(fd, offset);
    CHECK(lockf(fd, F_ULOCK, 8) == 0);
  } else if (strcmp(how, "close") == 0) {
    const int own = opened();
    setLock(own, F_SETLKW, F_WRLCK);
    time = writeAt(own, offset);
    CHECK(close(own) == 0);
  } else if (strcmp(how, "dup") == 0) {
    const int copy = dup(fd);
    CHECK(flock(copy, LOCK_EX) == 0);
    CHECK(close(copy) == 0);
    time = writeAt(fd, offset);
    CHECK(flock(fd, LOCK_UN) == 0);
  } else if (strcmp(how, "exit") == 0) {
    double* const shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      const int own = opened();
      setLock(own, F_SETLKW, F_WRLCK);
      *shared = writeAt(own, offset);
      _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    time = *shared;
    munmap(shared, sizeof *shared);
  } else {
    const int command = strcmp(how, "ofd") == 0 ? F_OFD_SETLKW : F_SETLKW;
    setLock(fd, command, F_WRLCK);
    time = writeAt(fd, offset);
    setLock(fd, command, F_UNLCK);
  }
  return time;
}

struct Turn {
  double time;
  int rank;
};

static int byTime(const void* a, const void* b) {
  const double first = ((const struct Turn*)a)->time, second = ((const struct Turn*)b)->time;
  return (first > second) - (first < second);
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  CHECK(count == 2);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int fd = opened();
  memset(data, 'a' + rank, sizeof data);
  double times[kTurns];  // of one clock: all ranks are on one host
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kTurns; ++i) {
    times[i] = turn(words[1], fd, (off_t)(rank * kTurns + i) * kBytes);
    usleep(100);
  }
  struct Turn* const all = calloc((size_t)(ranks * kTurns), sizeof *all);
  double* const gathered = calloc((size_t)(ranks * kTurns), sizeof *gathered);
  CHECK(MPI_Gather(times, kTurns, MPI_DOUBLE, gathered, kTurns, MPI_DOUBLE, 0, MPI_COMM_WORLD) ==
        MPI_SUCCESS);
  for (int i = 0; rank == 0 && i < ranks * kTurns; ++i) {
    all[i] = (struct Turn){gathered[i], i / kTurns};
  }
  qsort(all, (size_t)(ranks * kTurns), sizeof *all, byTime);
  for (int i = 0; rank == 0 && i < ranks * kTurns; ++i) printf("%d\n", all[i].rank);
  CHECK(close(fd) == 0);
  MPI_Finalize();
  return 0;
}
