// Thousands of threads that live for a moment, at most eight at a time: each opens, writes and
// closes one of a few files.
//
//   c_many_threads DIRECTORY [THREADS]
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>

#include "check.h"

enum { kAlive = 8, kFiles = 50 };

static const char* directory;

static void* writeOnce(void* argument) {
  int thread = (int)(intptr_t)argument;
  char name[32];
  snprintf(name, sizeof name, "short.%d", thread % kFiles);
  PATH(path, directory, name);
  int fd = open(path, O_CREAT | O_WRONLY, 0644);
  CHECK(fd >= 0);
  CHECK(pwrite(fd, &thread, sizeof thread, (off_t)(thread / kFiles) * 4) == sizeof thread);
  CHECK(close(fd) == 0);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3)
    return fprintf(stderr, "usage: c_many_threads DIRECTORY [THREADS]\n"), 2;
  directory = argv[1];
  int threads = argc == 3 ? atoi(argv[2]) : 10000;
  pthread_t alive[kAlive];
  for (int i = 0; i < threads; ++i) {
    if (i >= kAlive) CHECK(pthread_join(alive[i % kAlive], NULL) == 0);
    CHECK(pthread_create(&alive[i % kAlive], NULL, writeOnce, (void*)(intptr_t)i) == 0);
  }
  for (int i = 0; i < kAlive && i < threads; ++i) CHECK(pthread_join(alive[i], NULL) == 0);
  return 0;
}
