// Threads that write without end, each counting its finished calls in shared memory of a file, so
// that the count survives the death of the process. It is killed from outside at any moment, or
// ends by itself: every call that returned has to be in the trace, and at most one more a thread.
//
//   c_counter DIRECTORY THREADS [WAY MICROSECONDS]
//   WAY: segv abort _exit child mpi_abort kill
//
// Prints "ready" and its process id when all threads are in their loops. With a WAY it ends in that
// way so long after; `child` forks a process that counts in DIRECTORY/child and calls _exit, and
// ends by _exit afterwards. Built with MPI, each rank counts in DIRECTORY/RANK, and rank 1 alone
// ends by itself.
#define _GNU_SOURCE
#include <fcntl.h>
#ifdef COUNTER_WITH_MPI
#include <mpi.h>
#endif
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"

enum { kMostThreads = 64, kCounterStride = 8 };  // a cache line a counter

static const char* directory;
static _Atomic uint64_t* counters;
static atomic_int running;
static useconds_t pause_us;

static int openCounted(int thread) {
  char name[32];
  snprintf(name, sizeof name, "thread.%d", thread);
  PATH(path, directory, name);
  int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
  CHECK(fd >= 0);
  return fd;
}

static void writeOnce(int fd, int thread, uint64_t value) {
  // The file stays small however long this runs.
  CHECK(pwrite(fd, &value, sizeof value, (off_t)(value % 512) * 8) == 8);
  atomic_store_explicit(counters + thread * kCounterStride, value + 1, memory_order_release);
}

static void* writeForever(void* argument) {
  int thread = (int)(intptr_t)argument;
  int fd = openCounted(thread);
  atomic_fetch_add(&running, 1);
  for (uint64_t value = 0;; ++value) {
    writeOnce(fd, thread, value);
    // More threads than processors leave little time to the one that ends it all, and logs of
    // millions of calls to compare.
    if (pause_us > 0 && value % 100 == 99) usleep(pause_us);
  }
  return NULL;
}

static void mapCounters(int threads) {
  PATH(path, directory, "counters");
  size_t bytes = sizeof(uint64_t) * kCounterStride * (size_t)threads;
  int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);
  CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
  counters = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(counters != MAP_FAILED && close(fd) == 0);
}

static int64_t nowNs(void) {
  struct timespec now;
  CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void begetChild(const char* own_directory, long microseconds) {
  pid_t child = fork();
  if (child == 0) {
    PATH(below, own_directory, "child");
    CHECK(mkdir(below, 0755) == 0);
    directory = below;
    mapCounters(1);
    int fd = openCounted(0);
    const int64_t end = nowNs() + microseconds * 1000;
    for (uint64_t value = 0; nowNs() < end; ++value) writeOnce(fd, 0, value);
    _exit(4);
  }
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 4);
}

static void end(const char* way, long microseconds) {
  static volatile char* volatile nowhere = NULL;
  if (strcmp(way, "child") == 0) begetChild(directory, microseconds);
  usleep((useconds_t)microseconds);
  if (strcmp(way, "segv") == 0) *nowhere = 0;
  if (strcmp(way, "abort") == 0) abort();
  if (strcmp(way, "kill") == 0) raise(SIGKILL);
#ifdef COUNTER_WITH_MPI
  if (strcmp(way, "mpi_abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
#endif
  _exit(5);
}

int main(int argc, char** argv) {
  int threads = argc == 3 || argc == 5 ? atoi(argv[2]) : 0;
  if (threads < 1 || threads > kMostThreads) {
    fprintf(stderr, "usage: c_counter DIRECTORY THREADS (1 to %d) [WAY MICROSECONDS]\n",
            kMostThreads);
    return 2;
  }
  int ends_itself = argc == 5;
  directory = argv[1];
#ifdef COUNTER_WITH_MPI
  int provided = 0;
  int rank = 0;
  CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char number[16];
  snprintf(number, sizeof number, "%d", rank);
  PATH(of_rank, argv[1], number);
  CHECK(mkdir(of_rank, 0755) == 0);
  directory = of_rank;
  ends_itself = ends_itself && rank == 1;
#endif
  mapCounters(threads);
  if (threads > 8) pause_us = 10000;
#ifdef COUNTER_WITH_MPI
  pause_us = (useconds_t)threads * 2000;
#endif
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, writeForever, (void*)(intptr_t)i) == 0);
  }
  while (atomic_load(&running) < threads) usleep(1000);
#ifdef COUNTER_WITH_MPI
  MPI_Barrier(MPI_COMM_WORLD);
#endif
  CHECK(printf("ready %d\n", (int)getpid()) > 0 && fflush(stdout) == 0);
  if (ends_itself) end(argv[3], atol(argv[4]));
  pause();
  return 0;
}
