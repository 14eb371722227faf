// Writes and reads files in pieces of a size that is given, in one way.
//
//   c_sizes WAY UNIT      UNIT in bytes. Ends with 77 where the file system has no direct I/O.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "check.h"

enum { kPieces = 20 };
static char* memory;
static long unit;

static void put(int fd, long bytes, off_t at) {
  CHECK(pwrite(fd, memory, (size_t)bytes, at) == bytes);
}
static void get(int fd, long bytes, off_t at, long wanted) {
  CHECK(pread(fd, memory, (size_t)bytes, at) == wanted);
}

// Every third piece is written; the holes between them are read as well.
static void direct(void) {
  const int fd = open("direct", O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0644);
  if (fd < 0 && errno == EINVAL) exit(77);
  CHECK(fd >= 0);
  for (int i = 0; i < kPieces; ++i) put(fd, unit, (off_t)i * 3 * unit);
  for (int i = 0; i < kPieces; ++i) get(fd, unit, (off_t)i * 3 * unit, unit);
  get(fd, 3 * unit, 3 * unit, 3 * unit);
  const off_t end = (off_t)((kPieces - 1) * 3 + 1) * unit;
  CHECK(lseek(fd, 0, SEEK_END) == end);
  get(fd, 2 * unit, end - unit, unit);  // the file ends in the middle
  CHECK(ftruncate(fd, end - unit) == 0 && lseek(fd, 0, SEEK_END) == end - unit);
  CHECK(close(fd) == 0);
}

// As several processes of one file do it, with a header that is written last.
static void strided(void) {
  const int fd = open("strided", O_RDWR | O_CREAT | O_TRUNC, 0644);
  const int other = open("strided", O_RDONLY);
  CHECK(fd >= 0 && other >= 0);
  for (int i = 0; i < kPieces; ++i) {
    put(fd, unit, (off_t)(i * 4 + 1) * unit);
    if (i % 2 == 1) put(fd, 2 * unit, (off_t)(i * 4 + 2) * unit);
  }
  CHECK(lseek(fd, -unit, SEEK_END) > 0 && lseek(fd, unit, SEEK_CUR) > 0);
  CHECK(lseek(fd, 0, SEEK_SET) == 0);
  const struct iovec pieces[] = {{memory, (size_t)unit / 4}, {memory, (size_t)(unit - unit / 4)}};
  CHECK(writev(fd, pieces, 2) == unit);
  for (int i = 0; i < kPieces * 4; ++i) get(other, unit, (off_t)i * unit, unit);
  get(other, unit, (off_t)kPieces * 4 * unit, 0);
  CHECK(lseek(other, unit, SEEK_SET) == unit &&
        read(other, memory, (size_t)(2 * unit)) == 2 * unit);
  CHECK(close(fd) == 0 && close(other) == 0);
}

// Lines of one unit each with their ends, through a stream; then pieces of a line.
static void lines(void) {
  FILE* file = fopen("lines", "w");
  CHECK(file != NULL);
  memory[unit - 1] = '\n';
  memory[unit] = '\0';
  for (int i = 0; i < kPieces; ++i) CHECK(fputs(memory, file) >= 0);
  CHECK(fclose(file) == 0);
  file = fopen("lines", "r");
  CHECK(file != NULL);
  for (int i = 0; i < kPieces; ++i) {
    CHECK(fgets(memory, (int)(2 * unit), file) != NULL && strlen(memory) == (size_t)unit);
  }
  CHECK(fgets(memory, (int)(2 * unit), file) == NULL);
  CHECK(fseek(file, 2 * unit, SEEK_SET) == 0 &&
        fread(memory, 1, (size_t)unit, file) == (size_t)unit);
  CHECK(fseek(file, -unit, SEEK_CUR) == 0 && ftell(file) == 2 * unit);
  CHECK(fclose(file) == 0);
  const int fd = open("lines", O_WRONLY | O_APPEND);
  CHECK(fd >= 0);
  for (int i = 0; i < kPieces; ++i) CHECK(write(fd, memory, (size_t)unit) == unit);
  CHECK(close(fd) == 0);
  struct stat facts;
  CHECK(stat("lines", &facts) == 0 && facts.st_size == 2 * kPieces * unit);
}

// Pieces of less than a unit, of which a factor would leave nothing, among others.
static void tiny(void) {
  const int fd = open("tiny", O_RDWR | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0);
  off_t at = 0;
  for (int i = 0; i < 200; ++i) {
    const long bytes = i % 10 == 9 ? unit : 1 + i % 3;
    CHECK(write(fd, memory, (size_t)bytes) == bytes);
    at += bytes;
  }
  CHECK(lseek(fd, 0, SEEK_CUR) == at && lseek(fd, 0, SEEK_SET) == 0);
  for (int i = 0; i < 200; ++i) {
    const long bytes = i % 10 == 9 ? unit : 1 + i % 3;
    CHECK(read(fd, memory, (size_t)bytes) == bytes);
  }
  CHECK(read(fd, memory, 1) == 0);
  CHECK(lseek(fd, -1, SEEK_END) == at - 1 && read(fd, memory, 1) == 1);
  CHECK(fallocate(fd, 0, at, 1) == 0 || errno == EOPNOTSUPP);
  CHECK(close(fd) == 0);
}

// Pages that are written by memory, with the descriptor closed before.
static void mapped(void) {
  const int fd = open("mapped", O_RDWR | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0 && ftruncate(fd, kPieces * unit) == 0);
  char* const all = mmap(NULL, (size_t)(kPieces * unit), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(all != MAP_FAILED && close(fd) == 0);
  for (int i = 0; i < kPieces; i += 2) memset(all + i * unit, 'm', (size_t)unit);
  CHECK(msync(all + 2 * unit, (size_t)unit, MS_SYNC) == 0);
  CHECK(munmap(all, (size_t)(kPieces * unit)) == 0);
}

static const struct {
  const char* name;
  void (*run)(void);
} ways[] = {
    {"direct", direct}, {"strided", strided}, {"lines", lines}, {"tiny", tiny}, {"mapped", mapped}};

int main(int count, char** words) {
  CHECK(count == 3);
  unit = atol(words[2]);
  CHECK(unit > 0 && posix_memalign((void**)&memory, 4096, (size_t)(4 * unit + 64)) == 0);
  memset(memory, 'x', (size_t)(4 * unit));
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (strcmp(words[1], ways[i].name) != 0) continue;
    ways[i].run();
    return 0;
  }
  return 2;
}
