// The choice among all cases, and what they share.
//
//   survival CASE DIRECTORY
//   survival put FILE CALLS      what a case starts as another program
#define _GNU_SOURCE
#include "survival.h"

#include <sys/wait.h>

const char* directory;
const char* self;

int newFile(const char* name) {
  PATH(path, directory, name);
  int fd = open(path, O_CREAT | O_WRONLY | O_APPEND, 0666);
  CHECK(fd >= 0);
  return fd;
}

void put(int fd, int calls) {
  while (calls-- > 0) CHECK(write(fd, "x", 1) == 1);
}

void waitFor(int child, int status) {
  int got = 0;
  CHECK(child > 0 && waitpid(child, &got, 0) == child);
  CHECK(WIFEXITED(got) && WEXITSTATUS(got) == status);
}

int highDescriptor(void) {
  enum { kFirst = 64, kLast = 30000 };
  for (int fd = kLast; fd >= kFirst; --fd) {
    if (fcntl(fd, F_GETFD) >= 0) return fd;
  }
  return -1;
}

int main(int argc, char** argv) {
  static char program[4096];
  CHECK(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
  self = program;
  if (argc == 4 && strcmp(argv[1], "put") == 0) {
    int fd = open(argv[2], O_CREAT | O_WRONLY | O_APPEND, 0666);
    CHECK(fd >= 0);
    put(fd, atoi(argv[3]));
    return 0;
  }
  const struct Case* const groups[] = {descriptor_cases, limit_cases,  path_cases,
                                       process_cases,    signal_cases, thread_cases};
  if (argc == 3) {
    directory = argv[2];
    for (size_t group = 0; group < sizeof groups / sizeof groups[0]; ++group) {
      for (const struct Case* one = groups[group]; one->name != NULL; ++one) {
        if (strcmp(argv[1], one->name) == 0) {
          one->run();
          printf("%s: done\n", one->name);
          return 0;
        }
      }
    }
  }
  fprintf(stderr, "usage: survival CASE DIRECTORY\n       survival put FILE CALLS\n");
  return 2;
}
