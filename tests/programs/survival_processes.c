// Children by every way, environments of every kind.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "survival.h"

static void numbered(char (*name)[64], const char* what, int number) {
  snprintf(*name, sizeof *name, "%s.%d", what, number);
}

// Three generations: 8 children at a time, each with two of its own.
static void forkStorm(void) {
  enum { kChildren = 120, kAtOnce = 8 };
  int alive[kAtOnce];
  for (int i = 0; i < kChildren; ++i) {
    if (i >= kAtOnce) waitFor(alive[i % kAtOnce], 5);
    int child = fork();
    if (child == 0) {
      char name[64];
      numbered(&name, "storm", i % 10);
      int fd = newFile(name);
      for (int k = 0; k < 2; ++k) {
        int grandchild = fork();
        if (grandchild == 0) {
          put(fd, 3);
          _exit(6);
        }
        waitFor(grandchild, 6);
      }
      put(fd, 2);
      _exit(5);
    }
    alive[i % kAtOnce] = child;
  }
  for (int i = 0; i < kAtOnce; ++i) waitFor(alive[i], 5);
}

static atomic_bool stop;

static void* putUntilStopped(void* number) {
  char name[64];
  numbered(&name, "thread", (int)(intptr_t)number);
  int fd = newFile(name);
  while (!atomic_load(&stop)) {
    put(fd, 50);
    usleep(200);
  }
  return NULL;
}

// Children are made by all ways while other threads are in the middle of recording.
static void forkAmongThreads(void) {
  enum { kThreads = 4 };
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    CHECK(pthread_create(&threads[i], NULL, putUntilStopped, (void*)(intptr_t)i) == 0);
  }
  PATH(path, directory, "spawned");
  for (int i = 0; i < 40; ++i) {
    int child = fork();
    if (child == 0) {
      put(newFile("forked"), 20);
      _exit(0);
    }
    waitFor(child, 0);
    child = vfork();
    if (child == 0) {
      execl(self, self, "put", path, "7", (char*)NULL);
      _exit(99);
    }
    waitFor(child, 0);
    char* arguments[] = {(char*)self, (char*)"put", path, (char*)"9", NULL};
    CHECK(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0);
    waitFor(child, 0);
  }
  atomic_store(&stop, 1);
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

// Forks that run no handlers.
static void rawForks(void) {
  int fd = newFile("data");
  put(fd, 10);
  for (int i = 0; i < 20; ++i) {
    int child = (int)(i % 2 ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : _Fork());
    if (child == 0) {
      put(fd, 20);
      _exit(0);
    }
    waitFor(child, 0);
    put(fd, 1);
  }
}

static void spawnActions(void) {
  int fd = newFile("data");
  put(fd, 10);
  int high = highDescriptor();
  PATH(path, directory, "spawned");
  char* arguments[] = {(char*)self, (char*)"put", path, (char*)"50", NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t all;
  sigfillset(&all);
  CHECK(posix_spawnattr_init(&attributes) == 0);
  CHECK(posix_spawnattr_setsigmask(&attributes, &all) == 0);
  CHECK(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP) == 0);
  for (int i = 0; i < 3; ++i) {
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    if (i == 0) CHECK(posix_spawn_file_actions_adddup2(&actions, fd, high < 0 ? 1000 : high) == 0);
    if (i == 1) CHECK(posix_spawn_file_actions_addclosefrom_np(&actions, 3) == 0);
    if (i == 2) CHECK(posix_spawn_file_actions_addchdir_np(&actions, directory) == 0);
    int child = 0;
    CHECK(posix_spawn(&child, self, &actions, &attributes, arguments, environ) == 0);
    waitFor(child, 0);
    put(fd, 10000);
  }
}

// Ends of which the tracer hears nothing: like a kill, and what was done before is there.
static void rawExits(void) {
  for (int i = 0; i < 20; ++i) {
    int child = fork();
    if (child == 0) {
      put(newFile("child"), 100);
      syscall(SYS_exit_group, i);
    }
    waitFor(child, i);
  }
}

// The child of a vfork does this before it is another program, from many threads at once.
static void* vforkOften(void* path) {
  for (int i = 0; i < 20; ++i) {
    int child = vfork();
    if (child == 0) {
      execl("/nonexistent/program", "program", (char*)NULL);
      execl(self, self, "put", path, "3", (char*)NULL);
      _exit(99);
    }
    waitFor(child, 0);
    put(newFile("threads"), 5);
  }
  return NULL;
}

static void vforkInThreads(void) {
  PATH(path, directory, "vforked");
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, vforkOften, path) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

// Without the tracer's variables the next image is not traced; what went before is.
static void execWithout(char** variables) {
  put(newFile("before"), 1000);
  PATH(path, directory, "untraced");
  execle(self, self, "put", path, "10", (char*)NULL, variables);
}
static void execEmptied(void) {
  char* none[] = {NULL};
  execWithout(none);
}

// The variables are there, among others and in another order.
static void execChanged(void) {
  put(newFile("before"), 1000);
  static char filler[100000];
  memset(filler, 'v', sizeof filler - 1);
  memcpy(filler, "FILLER=", 7);
  char* variables[64] = {filler, (char*)"=odd", (char*)"LD_PRELOADS=x", (char*)"OMNIO", filler};
  int count = 5;
  for (char** one = environ; *one != NULL && count < 60; ++one) {
    if (strncmp(*one, "LD_PRELOAD=", 11) == 0 || strncmp(*one, "OMNIO_", 6) == 0) {
      variables[count++] = *one;
    }
  }
  PATH(path, directory, "after");
  execle(self, self, "put", path, "2000", (char*)NULL, variables);
}

static void clearedThenChildren(void) {
  CHECK(clearenv() == 0);
  CHECK(setenv("PATH", "/usr/bin:/bin", 1) == 0);
  int child = fork();
  if (child == 0) {
    put(newFile("child"), 3000);
    _exit(0);
  }
  waitFor(child, 0);
  put(newFile("parent"), 3000);
}

// As daemons have been made for ever; the first process ends only when the daemon has ended, since
// a test has to know when to look.
static void becomeDaemon(void) {
  CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
  put(newFile("parent"), 100);
  int child = fork();
  if (child == 0) {
    CHECK(setsid() > 0);
    int daemon = fork();
    if (daemon != 0) _exit(daemon < 0);
    for (int fd = 0; fd < 30000; ++fd) close(fd);
    CHECK(chdir("/") == 0);
    CHECK(open("/dev/null", O_RDWR) == 0 && dup(0) == 1 && dup(0) == 2);
    put(newFile("daemon"), 20000);
    exit(0);
  }
  waitFor(child, 0);
  int status = 0;
  CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// A child that ends by itself while its parent's threads go on.
static void childExits(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    CHECK(pthread_create(&threads[i], NULL, putUntilStopped, (void*)(intptr_t)i) == 0);
  }
  for (int i = 0; i < 20; ++i) {
    int child = fork();
    if (child == 0) {
      char name[64];
      numbered(&name, "child", i);
      put(newFile(name), i);
      if (i % 3 == 0) _exit(i);
      if (i % 3 == 1) quick_exit(i);
      exit(i);
    }
    waitFor(child, i);
  }
  atomic_store(&stop, 1);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

const struct Case process_cases[] = {{"fork_storm", forkStorm},
                                     {"fork_among_threads", forkAmongThreads},
                                     {"raw_forks", rawForks},
                                     {"spawn_actions", spawnActions},
                                     {"vfork_in_threads", vforkInThreads},
                                     {"exec_emptied", execEmptied},
                                     {"exec_changed", execChanged},
                                     {"clearenv_children", clearedThenChildren},
                                     {"become_daemon", becomeDaemon},
                                     {"child_exits", childExits},
                                     {"raw_exits", rawExits},
                                     {NULL, NULL}};
