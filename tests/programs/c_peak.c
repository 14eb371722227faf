// Runs a command and ends with its status. It appends a line to a file: the peak of resident
// memory, in KiB, of the command or of a process that it started, whichever had most.
//
//   c_peak FILE COMMAND...
//
// Small itself: a process has at least the peak of the one that it was made of.
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  CHECK(argc > 2);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    execvp(argv[2], argv + 2);
    _exit(127);
  }
  int status = 0;
  struct rusage used;
  CHECK(wait4(child, &status, 0, &used) == child);
  char line[32];
  const int bytes = snprintf(line, sizeof line, "%ld\n", used.ru_maxrss);
  const int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
  CHECK(fd >= 0);
  CHECK(write(fd, line, (size_t)bytes) == bytes);
  CHECK(close(fd) == 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
