// Workloads in which threads of a rank do I/O.
#include <pthread.h>

#include "c_workloads.h"

enum { kPiece = 4 * kBlock };

// What readAhead() finds.
void readAheadFiles(void) {
  const int fd = openFile(own("ahead"), O_WRONLY | O_CREAT);
  for (int i = 0; i < 20 * rounds; ++i) put(fd, (off_t)i * kPiece, kPiece);
  closeFile(fd);
}

static struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int fd;
  int read;  // pieces that are there
  int used;  // pieces that the main thread has computed with
} ahead = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, -1, 0, 0};

static void* reader(void* nothing) {
  static char pieces[2][kPiece];
  (void)nothing;
  for (int i = 0; i < 20 * rounds; ++i) {
    pthread_mutex_lock(&ahead.mutex);
    while (ahead.used < i - 1) pthread_cond_wait(&ahead.changed, &ahead.mutex);
    pthread_mutex_unlock(&ahead.mutex);
    getInto(pieces[i % 2], ahead.fd, (off_t)i * kPiece, kPiece);
    pthread_mutex_lock(&ahead.mutex);
    ahead.read = i + 1;
    pthread_cond_signal(&ahead.changed);
    pthread_mutex_unlock(&ahead.mutex);
  }
  return NULL;
}

// A thread reads the next piece while the main thread computes with this one.
void readAhead(void) {
  ahead.fd = openFile(own("ahead"), O_RDONLY);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, reader, NULL) == 0);
  for (int i = 0; i < 20 * rounds; ++i) {
    pthread_mutex_lock(&ahead.mutex);
    while (ahead.read <= i) pthread_cond_wait(&ahead.changed, &ahead.mutex);
    pthread_mutex_unlock(&ahead.mutex);
    pauseFor(0.2);
    pthread_mutex_lock(&ahead.mutex);
    ahead.used = i + 1;
    pthread_cond_signal(&ahead.changed);
    pthread_mutex_unlock(&ahead.mutex);
  }
  CHECK(pthread_join(thread, NULL) == 0);
  closeFile(ahead.fd);
}

struct Writer {
  pthread_t thread;
  int fd;
  int number;
  int round;
  char piece[kBlock];
};

static void* writer(void* argument) {
  struct Writer* self = argument;
  enum { kPieces = 4 };
  const off_t from = ((off_t)self->round * 3 + self->number) * kPieces * kBlock;
  for (int i = 0; i < kPieces; ++i) put(self->fd, from + (off_t)i * kBlock, kBlock);
  getInto(self->piece, self->fd, from, kBlock);
  return NULL;
}

// Three threads write and read at once, all wait for them, and compute.
void overlapped(void) {
  static struct Writer writers[3];
  const int fd = openFile(own("overlapped"), O_RDWR | O_CREAT);
  for (int round = 0; round < 4 * rounds; ++round) {
    for (int i = 0; i < 3; ++i) {
      writers[i].fd = fd;
      writers[i].number = i;
      writers[i].round = round;
      CHECK(pthread_create(&writers[i].thread, NULL, writer, &writers[i]) == 0);
    }
    for (int i = 0; i < 3; ++i) CHECK(pthread_join(writers[i].thread, NULL) == 0);
    pauseFor(1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  closeFile(fd);
}
