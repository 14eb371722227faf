// Writes single bytes to FILE, starts another program, waits for it, and writes again: 100 bytes
// before and 100 bytes after.
//
//   c_starts FILE WAY TIMES PROGRAM [ARGUMENT...]
//
//   WAY: fork         fork and execve
//        vfork        vfork and execve
//        spawn        posix_spawn
//        spawnp       posix_spawnp
//        system       system
//        popen        popen; the output of the program is passed on
//        cleared      fork, clearenv and execv
//        emptied      fork and execve with an empty environment
//
// Ends with the status of the last program, 128 + n when signal n ended it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "check.h"

extern char** environ;

static void put(int fd, int calls) {
  while (calls-- > 0) CHECK(write(fd, "x", 1) == 1);
}

static int statusOf(int status) {
  CHECK(WIFEXITED(status) || WIFSIGNALED(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int waitFor(pid_t child) {
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return statusOf(status);
}

// The words as a shell reads them; none of them has a quote.
static const char* commandOf(char** words) {
  static char command[16384];
  command[0] = '\0';
  for (; *words != NULL; ++words) {
    CHECK(strchr(*words, '\'') == NULL);
    CHECK(strlen(command) + strlen(*words) + 4 < sizeof command);
    strcat(strcat(strcat(command, "'"), *words), "' ");
  }
  return command;
}

static int throughPipe(const char* command) {
  FILE* pipe = popen(command, "r");
  CHECK(pipe != NULL);
  char line[4096];
  while (fgets(line, sizeof line, pipe) != NULL) CHECK(fputs(line, stdout) >= 0);
  CHECK(fflush(stdout) == 0);
  return statusOf(pclose(pipe));
}

static int start(const char* way, char** words) {
  static char* no_environment[] = {NULL};
  pid_t child = -1;
  if (strcmp(way, "system") == 0) return statusOf(system(commandOf(words)));
  if (strcmp(way, "popen") == 0) return throughPipe(commandOf(words));
  if (strcmp(way, "spawn") == 0) {
    CHECK(posix_spawn(&child, words[0], NULL, NULL, words, environ) == 0);
    return waitFor(child);
  }
  if (strcmp(way, "spawnp") == 0) {
    CHECK(posix_spawnp(&child, words[0], NULL, NULL, words, environ) == 0);
    return waitFor(child);
  }
  child = strcmp(way, "vfork") == 0 ? vfork() : fork();
  if (child == 0) {
    if (strcmp(way, "cleared") == 0) {
      clearenv();
      execv(words[0], words);
    } else if (strcmp(way, "emptied") == 0) {
      execve(words[0], words, no_environment);
    } else {
      execve(words[0], words, environ);
    }
    _exit(71);
  }
  return waitFor(child);
}

int main(int argc, char** argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: c_starts FILE WAY TIMES PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  int fd = open(argv[1], O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0666);
  CHECK(fd >= 0);
  put(fd, 100);
  int status = 0;
  for (int times = atoi(argv[3]); times > 0; --times) status = start(argv[2], argv + 4);
  put(fd, 100);
  CHECK(close(fd) == 0);
  return status;
}
