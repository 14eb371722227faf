// Many small calls by several threads, each on a file of its own.
//
//   c_bulk DIRECTORY EVENTS THREADS      EVENTS a thread, its open and close among them
//
// Needs no MPI: under a launcher, its ranks write files of different names.
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>

#include "check.h"

static const char* directory;
static const char* rank = "0";
static long events;

static void* work(void* argument) {
  char name[64];
  snprintf(name, sizeof name, "bulk.%s.%ld", rank, (long)(intptr_t)argument);
  PATH(path, directory, name);
  char data[64];
  memset(data, 'b', sizeof data);
  int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0644);
  CHECK(fd >= 0);
  for (long i = 0; i < events - 2; ++i) {
    const off_t at = i / 4 * (off_t)sizeof data;
    if (i % 4 < 2) {
      CHECK(pwrite(fd, data, sizeof data / 2, at + (i % 4) * 32) == (ssize_t)sizeof data / 2);
    } else {
      CHECK(pread(fd, data, sizeof data / 2, at) == (ssize_t)sizeof data / 2);
    }
  }
  CHECK(close(fd) == 0);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 4) return fprintf(stderr, "usage: c_bulk DIRECTORY EVENTS THREADS\n"), 2;
  directory = argv[1];
  events = atol(argv[2]);
  const int count = atoi(argv[3]);
  CHECK(events >= 2 && count >= 1 && count <= 64);
  if (getenv("OMPI_COMM_WORLD_RANK") != NULL) rank = getenv("OMPI_COMM_WORLD_RANK");
  pthread_t threads[64];
  for (int i = 0; i < count; ++i) {
    CHECK(pthread_create(&threads[i], NULL, work, (void*)(intptr_t)i) == 0);
  }
  for (int i = 0; i < count; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  return 0;
}
