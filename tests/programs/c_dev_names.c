// Reaches files of the working directory by names below /dev and /proc:
//
//   c_dev_names > out < in
//
// `in` has 4,096 bytes or more. Makes `made`, `linked` and the directory `sub`, and writes 1,000
// bytes each by /dev/stdout, /dev/fd/1 and /proc/self/fd/1, all at their begin, and by
// /proc/self/cwd/made.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK(condition)                                               \
  do {                                                                 \
    if (!(condition)) {                                                \
      fprintf(stderr, "c_dev_names.c:%d: %s\n", __LINE__, #condition); \
      exit(1);                                                         \
    }                                                                  \
  } while (0)

static char data[4096];

static void put(const char* name, int flags) {
  const int fd = open(name, O_WRONLY | flags, 0644);
  CHECK(fd >= 0 && write(fd, data, 1000) == 1000 && close(fd) == 0);
}

int main(void) {
  memset(data, 'd', sizeof data);
  put("/dev/stdout", 0);
  put("/dev/fd/1", 0);
  put("/proc/self/fd/1", 0);
  put("/proc/self/cwd/made", O_CREAT | O_EXCL);
  FILE* const in = fopen("/dev/stdin", "r");
  CHECK(in != NULL && setvbuf(in, NULL, _IONBF, 0) == 0);
  CHECK(fread(data, 1, sizeof data, in) == sizeof data && fclose(in) == 0);
  struct stat facts;
  CHECK(stat("/dev/fd/1", &facts) == 0 && facts.st_size == 1000);
  CHECK(truncate("/proc/self/fd/1", 500) == 0);
  const int directory = open(".", O_RDONLY | O_DIRECTORY);
  CHECK(directory >= 0);
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d/sub", directory);
  CHECK(mkdir(name, 0755) == 0);
  snprintf(name, sizeof name, "/proc/self/fd/%d/made", directory);
  CHECK(rename(name, "/proc/self/cwd/renamed") == 0);
  CHECK(unlink("/proc/thread-self/cwd/renamed") == 0);
  // These are no files of storage, whatever leads to them.
  put("/dev/null", 0);
  const int status = open("/proc/self/status", O_RDONLY);
  CHECK(status >= 0 && read(status, data, 10) == 10);
  CHECK(open("/proc/self/fd/999", O_RDONLY) < 0);
  return 0;
}
