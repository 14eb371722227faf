// Writes files by other patterns of offsets and sizes, as one rank of several would; for
// predictions.
//
//   c_patterns WAY TURNS [SEED]        in the directory where its files go
//
//   restart      a file each turn: a header, and a part of each of six variables of other sizes
//   planes       one file: in turn a plane of one variable and one of another, of other sizes
//   stream       the same file again each turn, through a stream with seeks: a table and its lines
//   append       a log that is opened, appended to and closed each turn, and data beside it
//   irregular    reads and writes of two files at random offsets, of random sizes, in random order
//   threads      SEED threads with a file each, at one time: those with even numbers as planes, the
//                others read and write sizes of a few, at a few offsets, in random order
#include <fcntl.h>
#include <pthread.h>

#include "check.h"

enum { kRank = 2, kRanks = 4, kUnit = 4096, kLargest = 24 * kUnit };
static char data[kLargest];
static long turns;
static unsigned long state;

static unsigned long drawnFrom(unsigned long* from, unsigned long below) {  // xorshift64
  *from ^= *from << 13;
  *from ^= *from >> 7;
  *from ^= *from << 17;
  return (*from >> 11) % below;
}

static unsigned long drawn(unsigned long below) { return drawnFrom(&state, below); }

static int opened(const char* name, int flags) {
  const int fd = open(name, flags, 0644);
  CHECK(fd >= 0);
  return fd;
}

static void put(int fd, size_t bytes, off_t at) {
  CHECK(pwrite(fd, data, bytes, at) == (ssize_t)bytes);
}

static void restart(void) {
  static const size_t kSizes[6] = {3 * kUnit, kUnit, 3 * kUnit, 8 * kUnit, kUnit / 2, 5 * kUnit};
  for (long turn = 0; turn < turns; ++turn) {
    char name[64];
    snprintf(name, sizeof name, "restart.%ld", turn % 10);
    const int fd = opened(name, O_WRONLY | O_CREAT | O_TRUNC);
    put(fd, 512, 0);
    off_t begin = kUnit;
    for (int v = 0; v < 6; ++v) {
      put(fd, kSizes[v], begin + (off_t)kRank * (off_t)kSizes[v]);
      begin += (off_t)kRanks * (off_t)kSizes[v];
    }
    CHECK(close(fd) == 0);
  }
}

static void planesIn(const char* name) {
  const int fd = opened(name, O_WRONLY | O_CREAT | O_TRUNC);
  const off_t other = (off_t)turns * 3 * kUnit;
  for (long turn = 0; turn < turns; ++turn) {
    put(fd, 3 * kUnit, (off_t)turn * 3 * kUnit);
    put(fd, kUnit, other + (off_t)turn * kUnit);
  }
  CHECK(close(fd) == 0);
}

static void planes(void) { planesIn("planes"); }

static void stream(void) {
  for (long turn = 0; turn < turns; ++turn) {
    FILE* const file = fopen("table", "w+");
    CHECK(file != NULL);
    CHECK(fwrite(data, 100, 4, file) == 4);
    for (int line = 0; line < 5; ++line) {
      CHECK(fseek(file, 1000 + 200 * line, SEEK_SET) == 0);
      CHECK(fprintf(file, "%0*d\n", 20 + 10 * (line % 2), line) > 0);
    }
    rewind(file);
    CHECK(fread(data, 100, 4, file) == 4);
    CHECK(fclose(file) == 0);
  }
}

static void append(void) {
  const int all = opened("data", O_WRONLY | O_CREAT | O_TRUNC);
  for (long turn = 0; turn < turns; ++turn) {
    CHECK(write(all, data, 2 * kUnit) == 2 * kUnit);
    const int fd = opened("log", O_WRONLY | O_CREAT | O_APPEND);
    CHECK(write(fd, data, 80) == 80);
    CHECK(write(fd, data, 40) == 40);
    CHECK(close(fd) == 0);
  }
  CHECK(close(all) == 0);
}

static void irregular(void) {
  const int fds[2] = {opened("irregular.a", O_RDWR | O_CREAT | O_TRUNC),
                      opened("irregular.b", O_RDWR | O_CREAT | O_TRUNC)};
  for (int i = 0; i < 2; ++i) CHECK(ftruncate(fds[i], (off_t)1 << 28) == 0);
  off_t ends[2] = {0, 0};
  for (long turn = 0; turn < turns; ++turn) {
    const unsigned long which = drawn(2);
    const int fd = fds[which];
    const size_t bytes = 1 + drawn(kLargest);
    // Some go on where the last one ended.
    const off_t at = drawn(2) == 0 ? ends[which] : (off_t)drawn(1UL << 27);
    ends[which] = at + (off_t)bytes;
    if (drawn(2) == 0) {
      CHECK(pread(fd, data, bytes, at) == (ssize_t)bytes);
    } else {
      put(fd, bytes, at);
    }
  }
  for (int i = 0; i < 2; ++i) CHECK(close(fds[i]) == 0);
}

static pthread_barrier_t all_are_there;

static void* oneThread(void* number) {
  const unsigned long self = (unsigned long)number;
  char name[64];
  snprintf(name, sizeof name, self % 2 == 0 ? "planes.%lu" : "few.%lu", self);
  // No thread has its last operation before all have had their first.
  CHECK(close(opened(name, O_WRONLY | O_CREAT | O_TRUNC)) == 0);
  pthread_barrier_wait(&all_are_there);
  if (self % 2 == 0) {
    planesIn(name);
    return NULL;
  }
  static __thread char own[20];
  unsigned long from = self;
  const int fd = opened(name, O_RDWR | O_CREAT | O_TRUNC);
  CHECK(ftruncate(fd, 1 << 20) == 0);
  for (long turn = 0; turn < 2 * turns; ++turn) {
    const size_t bytes = 1 + drawnFrom(&from, sizeof own);
    const off_t at = (off_t)drawnFrom(&from, 16) * kUnit;
    if (drawnFrom(&from, 2) == 0) {
      CHECK(pread(fd, own, bytes, at) == (ssize_t)bytes);
    } else {
      CHECK(pwrite(fd, own, bytes, at) == (ssize_t)bytes);
    }
  }
  CHECK(close(fd) == 0);
  return NULL;
}

static void threads(void) {
  enum { kMost = 1000 };
  static pthread_t all[kMost];
  CHECK(state <= kMost);
  CHECK(pthread_barrier_init(&all_are_there, NULL, (unsigned)state) == 0);
  for (unsigned long i = 0; i < state; ++i) {
    CHECK(pthread_create(&all[i], NULL, oneThread, (void*)i) == 0);  // NOLINT: a number
  }
  for (unsigned long i = 0; i < state; ++i) CHECK(pthread_join(all[i], NULL) == 0);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } ways[] = {{"restart", restart}, {"planes", planes},       {"stream", stream},
              {"append", append},   {"irregular", irregular}, {"threads", threads}};
  CHECK(argc == 3 || argc == 4);
  turns = atol(argv[2]);
  state = argc == 4 ? strtoul(argv[3], NULL, 10) : 1;
  CHECK(turns > 0 && state > 0);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (strcmp(argv[1], ways[i].name) != 0) continue;
    ways[i].run();
    return 0;
  }
  return 2;
}
