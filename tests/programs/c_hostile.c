// A program may do all this to itself, and the tracer has to go on: it closes descriptors it
// does not know, changes its root, directory, mask, limits, user or environment. After that it
// makes a known number of writes, and checks that descriptors are given out as ever.
//
//   c_hostile DIRECTORY MODE [CALLS]
//   MODE: plain close_each close_range closefrom chdir umask limits user root clearenv fork
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "check.h"

static void writeMany(const char* path, long calls) {
  int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0666);
  CHECK(fd >= 0);
  for (long i = 0; i < calls; ++i) CHECK(pwrite(fd, &i, sizeof i, (i % 512) * 8) == sizeof i);
  CHECK(close(fd) == 0);
}

// The number an open gives is the lowest free one, whatever a tracer keeps for itself.
static void checkLowestDescriptor(int expected) {
  int fd = open("/", O_RDONLY | O_DIRECTORY);
  CHECK(fd == expected);
  CHECK(close(fd) == 0);
}

// Returns the path under which the data file is reached after the change.
static const char* change(const char* mode, const char* directory, const char* path) {
  if (strcmp(mode, "close_each") == 0) {
    for (int fd = 3; fd < 70000; ++fd) close(fd);
  } else if (strcmp(mode, "close_range") == 0) {
    CHECK(close_range(3, ~0U, 0) == 0);
  } else if (strcmp(mode, "closefrom") == 0) {
    closefrom(3);
  } else if (strcmp(mode, "chdir") == 0) {
    CHECK(chdir(directory) == 0);
    return "data";
  } else if (strcmp(mode, "umask") == 0) {
    umask(0777);
  } else if (strcmp(mode, "limits") == 0) {
    struct rlimit few = {4, 4};
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    struct rlimit none = {0, 0};
    CHECK(setrlimit(RLIMIT_MEMLOCK, &none) == 0);
  } else if (strcmp(mode, "user") == 0) {
    CHECK(setgid(65534) == 0 && setuid(65534) == 0);
  } else if (strcmp(mode, "root") == 0) {
    CHECK(chroot(directory) == 0 && chdir("/") == 0);
    return "/data";
  } else if (strcmp(mode, "clearenv") == 0) {
    CHECK(clearenv() == 0);
  } else {
    CHECK(strcmp(mode, "plain") == 0 || strcmp(mode, "fork") == 0);
  }
  return path;
}

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) return fprintf(stderr, "usage: c_hostile DIRECTORY MODE [CALLS]\n"), 2;
  PATH(path, argv[1], "data");
  long calls = argc == 4 ? atol(argv[3]) : 100000;
  checkLowestDescriptor(3);
  const char* reached = change(argv[2], argv[1], path);
  checkLowestDescriptor(3);
  writeMany(reached, calls);
  if (strcmp(argv[2], "fork") == 0) {
    for (int i = 0; i < 3; ++i) {
      pid_t child = fork();
      if (child == 0) {
        CHECK(close_range(3, ~0U, 0) == 0);
        writeMany(reached, calls);
        _exit(0);
      }
      int status;
      CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
  }
  printf("%s: %ld writes a process\n", argv[2], calls);
  return 0;
}
