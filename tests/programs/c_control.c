/* Stops and starts its own recording. c_control DIRECTORY CASE
 *
 * Bytes written while recording are odd in number, others even, so that each event tells whether it
 * should be there. Prints what omnio_is_recording() said along the way. C and C++ alike.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/api/omnio.h"

static const char* directory;
static const char text[] = "0123456789";

static void check(int good, const char* what) {
  if (good) return;
  perror(what);
  exit(1);
}

static void put(int fd, int size, int times) {
  for (int i = 0; i < times; ++i) check(write(fd, text, (size_t)size) == size, "write");
}

static int make(const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  const int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);
  check(fd >= 0, path);
  return fd;
}

static void say(void) {
  printf("%d", omnio_is_recording());
  fflush(stdout);
}

static void names(void) {
  char sub[4096];
  snprintf(sub, sizeof sub, "%s/sub", directory);
  mkdir(sub, 0755);
  const int first = make("first");
  say();
  put(first, 3, 3);
  omnio_stop();
  omnio_stop(); /* a switch: one start is enough */
  say();
  put(first, 2, 5);
  const int meanwhile = make("meanwhile");
  put(meanwhile, 4, 2);
  const int copy = dup(meanwhile);
  check(chdir(sub) == 0, "chdir");
  omnio_start();
  say();
  put(copy, 5, 1);
  const int relative = open("relative", O_CREAT | O_WRONLY, 0644);
  put(relative, 7, 1);
  close(relative);
  close(copy);
  close(meanwhile);
  close(first);
}

static void children(void) {
  const int fd = make("shared");
  put(fd, 1, 2);
  omnio_stop();
  const pid_t child = fork();
  if (child == 0) {
    put(fd, 2, 3); /* stopped as its parent is */
    omnio_start();
    put(fd, 3, 2);
    _exit(0);
  }
  check(waitpid(child, NULL, 0) == child, "waitpid");
  put(fd, 4, 1);
  omnio_start();
  put(fd, 5, 1);
}

static int at_end = -1;

static void onAbort(int number) {
  (void)number;
  put(at_end, 4, 1);
}

/* A child that has recorded nothing of its own, and still does I/O when it has ended. */
static void aborting_child(void) {
  at_end = make("shared");
  put(at_end, 1, 2);
  omnio_stop();
  signal(SIGABRT, onAbort);
  const pid_t child = fork();
  if (child == 0) abort();
  int status = 0;
  check(waitpid(child, &status, 0) == child, "waitpid");
  check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "the child's end");
  omnio_start();
  put(at_end, 5, 1);
}

static void executed(char** arguments) {
  const int fd = make("before");
  put(fd, 1, 2);
  omnio_stop();
  put(fd, 2, 2);
  char* none[] = {NULL};
  execve("/nonexistent", none, none);
  put(fd, 4, 2); /* a failed exec changes nothing */
  char last[] = "after-exec";
  arguments[2] = last;
  execv(arguments[0], arguments);
  check(0, "execv");
}

static pthread_barrier_t barrier;

static void* inThread(void* number) {
  char name[32];
  snprintf(name, sizeof name, "thread%d", *(int*)number);
  const int fd = make(name);
  put(fd, 1, 1000);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier); /* stopped between the two */
  put(fd, 2, 1000);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  put(fd, 3, 1000);
  return NULL;
}

static void threads(void) {
  pthread_t all[4];
  int numbers[4];
  pthread_barrier_init(&barrier, NULL, 5);
  for (int i = 0; i < 4; ++i) {
    numbers[i] = i;
    check(pthread_create(&all[i], NULL, inThread, &numbers[i]) == 0, "pthread_create");
  }
  pthread_barrier_wait(&barrier);
  omnio_stop();
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  omnio_start();
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < 4; ++i) pthread_join(all[i], NULL);
}

static void toggled(void) {
  const int fd = make("toggled");
  put(fd, 1, 3);
  raise(SIGUSR2);
  put(fd, 2, 5);
  raise(SIGUSR2);
  put(fd, 3, 2);
}

/* Until the file "end" is there. The file "state" says whether it is recorded: "0" or "1". */
static void untilEnd(void) {
  const int fd = make("ready");
  const int state = make("state");
  char end[4096];
  snprintf(end, sizeof end, "%s/end", directory);
  while (access(end, F_OK) != 0) {
    put(fd, 1, 1);
    check(pwrite(state, &text[omnio_is_recording()], 1, 0) == 1, "pwrite");
    usleep(1000);
  }
}

static void onSignal(int number) {
  (void)number;
  printf("own handler\n");
}

static void often(int turns) {
  const int fd = make("often");
  for (int i = 0; i < turns; ++i) {
    put(fd, 1, 1);
    omnio_stop();
    put(fd, 2, 1);
    omnio_start();
  }
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  directory = arguments[1];
  const char* wanted = arguments[2];
  if (strcmp(wanted, "names") == 0) names();
  if (strcmp(wanted, "children") == 0) children();
  if (strcmp(wanted, "aborting-child") == 0) aborting_child();
  if (strcmp(wanted, "exec") == 0) executed(arguments);
  if (strcmp(wanted, "after-exec") == 0) put(make("after"), 3, 4);
  if (strcmp(wanted, "threads") == 0) threads();
  if (strcmp(wanted, "toggled") == 0) toggled();
  if (strcmp(wanted, "own-handler") == 0) {
    signal(SIGUSR2, onSignal);
    toggled();
  }
  if (strcmp(wanted, "until-end") == 0) untilEnd();
  if (strcmp(wanted, "often") == 0) often(2500);
  if (strcmp(wanted, "stays-stopped") == 0) {
    const int fd = make("stopped");
    put(fd, 1, 2);
    omnio_stop();
    usleep(200000);
    put(fd, 2, 2);
  }
  if (strcmp(wanted, "started") == 0) {
    put(make("early"), 2, 3);
    omnio_start();
    put(make("late"), 3, 3);
  }
  if (strcmp(wanted, "killed") == 0) {
    put(make("killed"), 1, 3);
    omnio_stop();
    raise(SIGKILL);
  }
  if (strcmp(wanted, "bulk") == 0) put(make("bulk"), 1, 400000);
  return 0;
}
