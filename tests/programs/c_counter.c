// Threads that write without end, each counting its finished calls in shared memory of a file, so
// that the count survives the death of the process. It is killed from outside at any moment: every
// call that returned has to be in the trace, and at most one more.
//
//   c_counter DIRECTORY THREADS
//
// Prints "ready" and its process id when all threads are in their loops.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "check.h"

enum { kMostThreads = 64, kCounterStride = 8 };  // a cache line a counter

static const char* directory;
static _Atomic uint64_t* counters;
static atomic_int running;

static void* writeForever(void* argument) {
  int thread = (int)(intptr_t)argument;
  char name[32];
  snprintf(name, sizeof name, "thread.%d", thread);
  PATH(path, directory, name);
  int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
  CHECK(fd >= 0);
  _Atomic uint64_t* counter = counters + thread * kCounterStride;
  atomic_fetch_add(&running, 1);
  for (uint64_t value = 0;; ++value) {
    // The file stays small however long this runs.
    CHECK(pwrite(fd, &value, sizeof value, (off_t)(value % 512) * 8) == 8);
    atomic_store_explicit(counter, value + 1, memory_order_release);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int threads = argc == 3 ? atoi(argv[2]) : 0;
  if (threads < 1 || threads > kMostThreads) {
    return fprintf(stderr, "usage: c_counter DIRECTORY THREADS (1 to %d)\n", kMostThreads), 2;
  }
  directory = argv[1];
  PATH(path, directory, "counters");
  size_t bytes = sizeof(uint64_t) * kCounterStride * (size_t)threads;
  int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);
  CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
  counters = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(counters != MAP_FAILED && close(fd) == 0);
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, writeForever, (void*)(intptr_t)i) == 0);
  }
  while (atomic_load(&running) < threads) usleep(1000);
  CHECK(printf("ready %d\n", (int)getpid()) > 0 && fflush(stdout) == 0);
  pause();
  return 0;
}
