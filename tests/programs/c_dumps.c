// Reads an input, writes a log in lines and dumps in blocks of a size that is given.
//
//   c_dumps BLOCK      BLOCK in bytes, a multiple of 4096. "in.dat" in the working directory has at
//                      least 3000 bytes.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>

#include "check.h"

enum { kSteps = 4, kBlocks = 5 };
static char* memory;
static size_t block;

// As one file, and by its second half and its end again.
static void writeDump(const char* name) {
  const int fd = open("dump.tmp", O_RDWR | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0);
  for (int i = 0; i < kBlocks; ++i) CHECK(write(fd, memory, block) == (ssize_t)block);
  CHECK(pwrite(fd, memory, block / 4, (off_t)(2 * block)) == (ssize_t)(block / 4));
  CHECK(lseek(fd, -(off_t)block, SEEK_END) == (off_t)((kBlocks - 1) * block));
  CHECK(read(fd, memory, 2 * block) == (ssize_t)block);
  CHECK(ftruncate(fd, (off_t)(kBlocks * block - block / 2)) == 0);
  CHECK(close(fd) == 0);
  CHECK(rename("dump.tmp", name) == 0);
}

static void copyDump(const char* from, const char* to) {
  const int source = open(from, O_RDONLY);
  const int copy = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  CHECK(source >= 0 && copy >= 0);
  off_t at = (off_t)block;
  CHECK(copy_file_range(source, &at, copy, NULL, block, 0) == (ssize_t)block);
  CHECK(close(source) == 0 && close(copy) == 0);
  CHECK(truncate(to, (off_t)(block / 2)) == 0 && unlink(to) == 0);
}

static void mapDump(const char* name) {
  const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0 && ftruncate(fd, (off_t)(2 * block)) == 0);
  char* const mapped = mmap(NULL, 2 * block, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(mapped != MAP_FAILED && close(fd) == 0);
  memset(mapped, 1, 2 * block);
  CHECK(msync(mapped, block, MS_SYNC) == 0 && munmap(mapped, 2 * block) == 0);
}

int main(int count, char** words) {
  CHECK(count == 2);
  block = (size_t)atol(words[1]);
  memory = calloc(2, block);
  CHECK(memory != NULL && block > 0 && block % 4096 == 0);
  const int input = open("in.dat", O_RDONLY);
  CHECK(input >= 0);
  char numbers[1000];
  for (int i = 0; i < 3; ++i) CHECK(read(input, numbers, sizeof numbers) == sizeof numbers);
  CHECK(close(input) == 0);
  FILE* const log = fopen("log", "w");
  CHECK(log != NULL);
  for (int i = 0; i < kSteps; ++i) {
    char name[20];
    CHECK(snprintf(name, sizeof name, "dump.%d", i) > 0);
    writeDump(name);
    CHECK(fprintf(log, "step %d of %d\n", i, kSteps) > 0);
  }
  copyDump("dump.0", "dump.copy");
  mapDump("dump.map");
  FILE* const stream = fopen("dump.0", "r");
  CHECK(stream != NULL && fread(memory, 1, block, stream) == block);
  CHECK(fseek(stream, (long)(3 * block), SEEK_SET) == 0 && ftell(stream) == (long)(3 * block));
  CHECK(fread(memory, 1, block, stream) == block && fclose(stream) == 0);
  CHECK(fclose(log) == 0);
  free(memory);
  return 0;
}
