// Moves bytes of files through mappings in the working directory. It says on standard output what
// it touched, a range a line: FILE read|write OFFSET BYTES.
//
//   c_mapping CASE
//
// grown   maps a file of one page, makes it 64 pages long, and writes them
// parts   unmaps the middle of a mapping, then touches both ends, and maps a second file there
// copies  writes and reads a private mapping
// many    has 5,000 mappings at once, and writes into each
// child   forks a child, which writes into the mapping of its parent; idle_child: and does not
// moved   makes a mapping longer by mremap, and touches what came new
// synced  writes a mapping and synchronises it, and reads another file by a mapping
// flushed writes mappings whose pages the kernel writes back before they are unmapped
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) {                                              \
      fprintf(stderr, "c_mapping.c:%d: %s\n", __LINE__, #condition); \
      exit(1);                                                       \
    }                                                                \
  } while (0)

enum { kPage = 4096 };

static int make(const char* name, long pages) {
  const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0 && ftruncate(fd, pages * kPage) == 0);
  return fd;
}

// Longer than a tick of the clock that times of files are read from.
static void waitForTick(void) {
  const struct timespec time = {.tv_nsec = 60 * 1000 * 1000};
  CHECK(nanosleep(&time, NULL) == 0);
}

static char* map(int fd, long first, long pages, int flags) {
  char* const memory =
      mmap(NULL, (size_t)(pages * kPage), PROT_READ | PROT_WRITE, flags, fd, first * kPage);
  CHECK(memory != MAP_FAILED);
  return memory;
}

static void touch(const char* file, char* memory, long first, long pages, long page_of_file) {
  memset(memory + first * kPage, 'w', (size_t)(pages * kPage));
  printf("%s write %ld %ld\n", file, page_of_file * kPage, pages * kPage);
}

static void look(const char* file, const char* memory, long first, long pages, long page_of_file) {
  long sum = 0;
  for (long i = 0; i < pages; ++i) sum += ((const volatile char*)memory)[(first + i) * kPage];
  CHECK(sum == 0);
  printf("%s read %ld %ld\n", file, page_of_file * kPage, pages * kPage);
}

static void grow(void) {
  const int fd = make("grown", 1);
  char* const memory = map(fd, 0, 64, MAP_SHARED);
  CHECK(ftruncate(fd, 64 * kPage) == 0 && close(fd) == 0);
  touch("grown", memory, 0, 64, 0);
  CHECK(munmap(memory, 64 * kPage) == 0);
}

static void cut(void) {
  const int fd = make("parts", 300);
  const int other = make("other", 100);
  char* const memory = map(fd, 0, 300, MAP_SHARED);
  CHECK(munmap(memory + 100 * kPage, 100 * kPage) == 0);
  CHECK(mmap(memory + 100 * kPage, 100 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             other, 0) == memory + 100 * kPage);
  touch("parts", memory, 10, 5, 10);
  touch("parts", memory, 290, 10, 290);
  touch("other", memory, 150, 20, 50);
  CHECK(munmap(memory, 300 * kPage) == 0);
}

static void copy(void) {
  const int fd = make("copies", 256);
  char* const memory = map(fd, 16, 240, MAP_PRIVATE);
  look("copies", memory, 100, 10, 116);
  touch("copies", memory, 0, 3, 16);
  CHECK(munmap(memory, 240 * kPage) == 0);
}

static void haveMany(void) {
  enum { kMany = 5000 };
  const int fd = make("many", 1);
  static char* memory[kMany];
  for (int i = 0; i < kMany; ++i) memory[i] = map(fd, 0, 1, MAP_SHARED);
  for (int i = 0; i < kMany; ++i) touch("many", memory[i], 0, 1, 0);
  for (int i = 0; i < kMany; ++i) CHECK(munmap(memory[i], kPage) == 0);
}

static void haveChild(int touches) {
  const int fd = make("child", 64);
  char* const memory = map(fd, 0, 64, MAP_SHARED);
  touch("child", memory, 0, 4, 0);
  fflush(stdout);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (touches) memset(memory, 'c', 32 * kPage);
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(munmap(memory, 64 * kPage) == 0);
}

static void move(void) {
  const int fd = make("moved", 128);
  char* memory = map(fd, 0, 32, MAP_SHARED);
  touch("moved", memory, 0, 4, 0);
  memory = mremap(memory, 32 * kPage, 128 * kPage, MREMAP_MAYMOVE);
  CHECK(memory != MAP_FAILED);
  touch("moved", memory, 100, 28, 100);
  CHECK(munmap(memory, 128 * kPage) == 0);
}

static void synchronise(void) {
  const int fd = make("synced", 64);
  const int other = make("other", 32);
  char* const memory = map(fd, 0, 64, MAP_SHARED);
  touch("synced", memory, 0, 64, 0);
  CHECK(msync(memory, 64 * kPage, MS_SYNC) == 0 && munmap(memory, 64 * kPage) == 0);
  waitForTick();  // as most files that are read, it is not new
  char* const read = map(other, 0, 32, MAP_SHARED);
  look("other", read, 0, 32, 0);
  CHECK(munmap(read, 32 * kPage) == 0 && close(fd) == 0 && close(other) == 0);
}

static void flush(void) {
  const char* const names[] = {"new", "old"};
  for (int i = 0; i < 2; ++i) {
    const int fd = make(names[i], 32);
    if (i == 1) waitForTick();
    char* const memory = map(fd, 0, 32, MAP_SHARED);
    touch(names[i], memory, 3, 20, 3);
    CHECK(fsync(fd) == 0 && munmap(memory, 32 * kPage) == 0 && close(fd) == 0);
  }
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const char* const which = argv[1];
  if (strcmp(which, "grown") == 0) {
    grow();
  } else if (strcmp(which, "parts") == 0) {
    cut();
  } else if (strcmp(which, "copies") == 0) {
    copy();
  } else if (strcmp(which, "many") == 0) {
    haveMany();
  } else if (strcmp(which, "child") == 0) {
    haveChild(1);
  } else if (strcmp(which, "idle_child") == 0) {
    haveChild(0);
  } else if (strcmp(which, "moved") == 0) {
    move();
  } else if (strcmp(which, "synced") == 0) {
    synchronise();
  } else if (strcmp(which, "flushed") == 0) {
    flush();
  } else {
    fprintf(stderr, "c_mapping: there is no case %s\n", which);
    return 2;
  }
  return 0;
}
