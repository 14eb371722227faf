// A thread closes descriptors 200 to 300 by one call. Before that call returns, another thread has
// a file of its own at number 250, and goes on with it afterwards.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"

enum { kFirst = 200, kClosed = 210, kReused = 250, kLast = 300 };

extern void (*before_close_range_returns)(void);

static atomic_int step;
static void await(int wanted) {
  while (atomic_load(&step) < wanted) sched_yield();
}

static void letOtherGoOn(void) {
  atomic_store(&step, 1);
  await(2);
}

static void* other(void* nothing) {
  await(1);
  const int fd = open("other", O_CREAT | O_WRONLY, 0644);
  CHECK(fd >= 0 && dup2(fd, kReused) == kReused && write(kReused, "1", 1) == 1);
  atomic_store(&step, 2);
  await(3);
  CHECK(write(kReused, "2", 1) == 1 && close(kReused) == 0 && close(fd) == 0);
  return nothing;
}

int main(void) {
  const int fd = open("closed", O_CREAT | O_WRONLY, 0644);
  CHECK(fd >= 0 && dup2(fd, kClosed) == kClosed);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, other, NULL) == 0);
  before_close_range_returns = letOtherGoOn;
  const int result = close_range(kFirst, kLast, 0);
  if (result != 0 && errno == ENOSYS) return 77;
  CHECK(result == 0);
  atomic_store(&step, 3);
  CHECK(pthread_join(thread, NULL) == 0);
  return 0;
}
