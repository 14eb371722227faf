// Two threads that write late. One has no processor before: the thread that made it keeps the only
// one that both may use. The other sleeps before its call, of its own will. Each writes into `out`.
//
// Prints of each of them how many nanoseconds lay between its maker's last call before it was made
// and the moment after its own call, and how long it had waited for the processor by then, as the
// kernel says.
//
// Ends with 77 where the process may not take a processor for itself, and on processors whose
// system calls it does not know.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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
static long waited_ns;  // by the thread that is at work, before its call

static long nowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

// A system call that no library sees: a thread's first call is to be its write.
static long unseen(long number, long a, long b, long c) {
#ifdef __x86_64__
  register long fourth __asm__("r10") = 0;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                   : "rcx", "r11", "memory");
  return result;
#else
  exit(77);
#endif
}

// The second number of its schedstat.
static void noteWaiting(void) {
  char text[80] = "";
  const long file = unseen(SYS_openat, AT_FDCWD, (long)"/proc/thread-self/schedstat", O_RDONLY);
  CHECK(file >= 0);
  CHECK(unseen(SYS_read, file, (long)text, sizeof text - 1) > 0);
  CHECK(unseen(SYS_close, file, 0, 0) == 0);
  const char* const second = strchr(text, ' ');
  CHECK(second != NULL);
  waited_ns = strtol(second, NULL, 10);
}

static void* writeAtOnce(void* unused) {
  noteWaiting();
  CHECK(pwrite(fd, "a", 1, 0) == 1);
  return unused;
}

static void* sleepAndWrite(void* unused) {
  const struct timespec pause = {.tv_sec = 0, .tv_nsec = kLateNs};
  nanosleep(&pause, NULL);
  noteWaiting();
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
  // A schedule has the time since its maker's last call before the thread was made, in which this
  // thread may lose the processor too.
  long begun = nowNs();
  CHECK(pwrite(fd, "0", 1, 2) == 1);
  beForemost(SCHED_FIFO, 1);
  const pthread_t starved = make(writeAtOnce);
  for (const long until = nowNs() + kLateNs; nowNs() < until;) {
  }
  // The sleeper may be said to wait for the end of this join, after which this thread may get
  // no processor for a while itself.
  const long begun_waiting = nowNs();
  CHECK(pthread_join(starved, NULL) == 0);
  printf("%ld %ld\n", nowNs() - begun, waited_ns);
  beForemost(SCHED_OTHER, 0);
  begun = begun_waiting;
  CHECK(pthread_join(make(sleepAndWrite), NULL) == 0);
  printf("%ld %ld\n", nowNs() - begun, waited_ns);
  close(fd);
  return 0;
}
