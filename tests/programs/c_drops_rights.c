// A server that opens its log as the superuser, becomes another user, and has its work done by
// children, as many do:
//
//   c_drops_rights USER WORKERS WRITES [killed]
//
// Each worker writes so often one byte into a file of its own in the working directory, which that
// user has to be able to write. With `killed`, workers end by a signal in place of exit.
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      fprintf(stderr, "c_drops_rights.c:%d: %s\n", __LINE__, #condition); \
      exit(1);                                                            \
    }                                                                     \
  } while (0)

static void work(int worker, int writes, int is_killed) {
  char name[64];
  snprintf(name, sizeof name, "worker.%d", worker);
  const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0);
  for (int i = 0; i < writes; ++i) CHECK(pwrite(fd, "w", 1, i) == 1);
  if (is_killed) raise(SIGKILL);
  exit(close(fd));
}

int main(int count, char** words) {
  CHECK(count >= 4);
  const uid_t user = (uid_t)atoi(words[1]);
  const int workers = atoi(words[2]);
  const int writes = atoi(words[3]);
  const int is_killed = count > 4 && strcmp(words[4], "killed") == 0;
  const int log = open("server.log", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  CHECK(log >= 0 && write(log, "begin\n", 6) == 6);
  CHECK(setgroups(0, NULL) == 0 && setgid((gid_t)user) == 0 && setuid(user) == 0);
  for (int i = 0; i < workers; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) work(i, writes, is_killed);
  }
  for (int i = 0; i < workers; ++i) CHECK(wait(NULL) > 0);
  CHECK(write(log, "end\n", 4) == 4);
  return 0;
}
