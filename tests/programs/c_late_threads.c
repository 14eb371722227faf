// Two threads that write late. One has no processor before: the thread that made it keeps the only
// one that both may use. The other sleeps before its call, of its own will. Each writes into `out`.
//
// Ends with 77 where the process may not take a processor for itself.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      fprintf(stderr, "c_late_threads.c:%d: %s\n", __LINE__, #condition); \
      exit(1);                                                            \
    }                                                                     \
  } while (0)

static const long kLateNs = 40000000;
static int fd;

static long nowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void* writeAtOnce(void* unused) {
  CHECK(pwrite(fd, "a", 1, 0) == 1);
  return unused;
}

static void* sleepAndWrite(void* unused) {
  const struct timespec pause = {.tv_sec = 0, .tv_nsec = kLateNs};
  nanosleep(&pause, NULL);
  CHECK(pwrite(fd, "b", 1, 1) == 1);
  return unused;
}

static void beForemost(int policy, int priority) {
  const struct sched_param parameters = {.sched_priority = priority};
  const int error = pthread_setschedparam(pthread_self(), policy, &parameters);
  if (error == EPERM) exit(77);
  CHECK(error == 0);
}

static pthread_t make(void* (*work)(void*)) {
  // Not with the priority of its maker.
  pthread_attr_t ordinary;
  const struct sched_param none = {.sched_priority = 0};
  CHECK(pthread_attr_init(&ordinary) == 0);
  CHECK(pthread_attr_setinheritsched(&ordinary, PTHREAD_EXPLICIT_SCHED) == 0);
  CHECK(pthread_attr_setschedpolicy(&ordinary, SCHED_OTHER) == 0);
  CHECK(pthread_attr_setschedparam(&ordinary, &none) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, &ordinary, work, NULL) == 0);
  return thread;
}

int main(void) {
  cpu_set_t processors, one;
  CHECK(sched_getaffinity(0, sizeof processors, &processors) == 0);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &processors)) {
      CPU_SET(i, &one);
      break;
    }
  }
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
  fd = open("out", O_WRONLY | O_CREAT, 0644);
  CHECK(fd >= 0);
  CHECK(pwrite(fd, "0", 1, 2) == 1);
  beForemost(SCHED_FIFO, 1);
  const pthread_t starved = make(writeAtOnce);
  for (const long until = nowNs() + kLateNs; nowNs() < until;) {
  }
  CHECK(pthread_join(starved, NULL) == 0);
  beForemost(SCHED_OTHER, 0);
  CHECK(pthread_join(make(sleepAndWrite), NULL) == 0);
  close(fd);
  return 0;
}
