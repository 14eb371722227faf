// Short threads, each with a file and one write of its own, while main returns at a moment that its
// argument chooses: some threads have ended then, some write, some have not begun.
//
//   c_short_threads DIRECTORY THREADS MICROSECONDS
//
// Each thread sets its counter in DIRECTORY/counters, which is shared memory, to 1 when its write
// has returned: the write has to be in the trace. A write that did not return may be.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#include "check.h"

enum { kMostThreads = 1000, kCounterStride = 8 };  // a cache line a counter

static const char* directory;
static _Atomic uint64_t* counters;
static int threads;

static void mapCounters(void) {
  PATH(path, directory, "counters");
  size_t bytes = sizeof(uint64_t) * kCounterStride * (size_t)threads;
  int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);
  CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
  counters = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(counters != MAP_FAILED && close(fd) == 0);
}

static void* writeOnce(void* argument) {
  int thread = (int)(intptr_t)argument;
  char name[32];
  snprintf(name, sizeof name, "thread.%d", thread);
  PATH(path, directory, name);
  int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
  CHECK(fd >= 0 && write(fd, "x", 1) == 1);
  atomic_store_explicit(counters + thread * kCounterStride, 1, memory_order_release);
  return NULL;
}

static void* startAll(void* unused) {
  (void)unused;
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, &attributes, writeOnce, (void*)(intptr_t)i) == 0);
  }
  return NULL;
}

int main(int argc, char** argv) {
  threads = argc == 4 ? atoi(argv[2]) : 0;
  if (threads < 1 || threads > kMostThreads) {
    fprintf(stderr, "usage: c_short_threads DIRECTORY THREADS (1 to %d) MICROSECONDS\n",
            kMostThreads);
    return 2;
  }
  directory = argv[1];
  const long pause_us = atol(argv[3]);
  mapCounters();
  pthread_t starter;
  CHECK(pthread_create(&starter, NULL, startAll, NULL) == 0);
  const struct timespec pause = {pause_us / 1000000, pause_us % 1000000 * 1000};
  nanosleep(&pause, NULL);
  return 0;
}
