// A known number of writes in an order no predictor shortens, with a stop halfway: room for a test
// to fill, remount or remove what the trace is written to.
//
//   c_steady DIRECTORY THREADS CALLS SLOTS
//
// Each thread makes CALLS pwrites of 1 to 8 bytes into its own file of SLOTS * 8 bytes. Prints
// "half", and goes on when a line or the end of the input arrives; prints what it did.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "check.h"

static const char* directory;
static uint64_t calls, slots;
static int members;
static atomic_int arrived, turns;

// All of them. A barrier of the C library would be an event.
static void meet(void) {
  const int turn = atomic_load(&turns);
  if (atomic_fetch_add(&arrived, 1) + 1 == members) {
    atomic_store(&arrived, 0);
    atomic_fetch_add(&turns, 1);
  }
  while (atomic_load(&turns) == turn) sched_yield();
}

static void* writeAll(void* argument) {
  uint64_t thread = (uint64_t)(intptr_t)argument;
  char name[32];
  snprintf(name, sizeof name, "steady.%d", (int)thread);
  PATH(path, directory, name);
  int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
  CHECK(fd >= 0);
  uint64_t state = 88172645463325252u + thread;
  for (uint64_t call = 0; call < calls; ++call) {
    if (call == calls / 2) {
      meet();
      meet();
    }
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;  // Marsaglia's xorshift64
    size_t bytes = 1 + (state >> 40) % 8;
    CHECK(pwrite(fd, &state, bytes, (off_t)(state % slots) * 8) == (ssize_t)bytes);
  }
  CHECK(close(fd) == 0);
  return NULL;
}

int main(int argc, char** argv) {
  int threads = argc == 5 ? atoi(argv[2]) : 0;
  if (threads < 1 || threads > 64) {
    return fprintf(stderr, "usage: c_steady DIRECTORY THREADS CALLS SLOTS\n"), 2;
  }
  directory = argv[1];
  calls = strtoull(argv[3], NULL, 10);
  slots = strtoull(argv[4], NULL, 10);
  CHECK(calls >= 2 && slots >= 1);
  members = threads + 1;
  pthread_t started[64];
  for (int i = 0; i < threads; ++i) {
    CHECK(pthread_create(&started[i], NULL, writeAll, (void*)(intptr_t)i) == 0);
  }
  meet();
  CHECK(puts("half") >= 0 && fflush(stdout) == 0);
  char line[64];
  if (fgets(line, sizeof line, stdin) == NULL) clearerr(stdin);
  meet();
  for (int i = 0; i < threads; ++i) CHECK(pthread_join(started[i], NULL) == 0);
  printf("threads=%d opens=%d writes=%llu closes=%d\n", threads, threads,
         (unsigned long long)calls * (unsigned long long)threads, threads);
  return 0;
}
