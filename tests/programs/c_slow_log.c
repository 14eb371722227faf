// Small writes at a steady pace, each timed, to measure what a slow log costs the traced program.
//
//   c_slow_log DIRECTORY THREADS CALLS PACE_NS [STEP...]
//
// Each thread makes CALLS (a power of two) pwrites of the byte 'x' to a file of its own, one to
// each offset below CALLS in an order that no predictor shortens: the number of bytes that are 'x'
// is the number of writes. PACE_NS is the time from one call to the next, on average over 64 calls.
//
// With MEETINGS in the environment, which names a directory with the pipes `said` and `heard`, the
// program says that all threads are there and begin their calls, and that all have made them, each
// with a byte to `said`, and goes on when there is a byte for it in `heard`.
//
// With steps there is one thread, which makes CALLS writes to another new file after each step:
//   fork      a child makes CALLS writes to a file of its own and ends
//   exec      goes on in a new image of this program
//   newns     unshare(CLONE_NEWNS)
//   setns     returns to the mount namespace that the image began in
//   setuid    becomes user 1234
//   newuser   unshare(CLONE_NEWUSER), which the system refuses to a process with two threads
// Prints each step with its errno, 0 where it succeeded.
//
// Prints what it did on standard output, and on standard error what it measured, to be looked at:
//   times: calls=N over_5ms=N over_20ms=N longest_us=A,B,C,D,E stalled_us=N elapsed_us=N
// `stalled_us` is the time in calls of 5 ms or more, in the thread that has most of it.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"

enum { kMostThreads = 64, kLongest = 5, kTogether = 64 };

static const char* directory;
static uint64_t calls;
static int64_t pace_ns;
static int parts;  // files so far

struct Times {
  uint64_t calls, over_5ms, over_20ms;
  int64_t stalled_ns;
  int64_t longest_ns[kLongest];  // in descending order
};

static struct Times all;
static int threads_to_meet;

struct Meeting {
  atomic_int came, goes_on;
};
static struct Meeting before_calls, after_calls;

static int64_t nowNs(void) {
  struct timespec now;
  CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void sleepUntil(int64_t due_ns) {
  const struct timespec due = {due_ns / 1000000000, due_ns % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR) {
  }
}

// By raw system calls, which are not recorded.
static int pipeNamed(const char* name, int flags) {
  PATH(path, getenv("MEETINGS"), name);
  const int result = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC);
  CHECK(result >= 0);
  return result;
}

static void meet(void) {
  if (getenv("MEETINGS") == NULL) return;
  const int said = pipeNamed("said", O_WRONLY), heard = pipeNamed("heard", O_RDONLY);
  char byte = 'x';
  CHECK(syscall(SYS_write, said, &byte, 1) == 1 && syscall(SYS_read, heard, &byte, 1) == 1);
  CHECK(syscall(SYS_close, said) == 0 && syscall(SYS_close, heard) == 0);
}

// Threads that wait for each other by the C library would make events of their own.
static void meetWithAllThreads(struct Meeting* meeting) {
  if (getenv("MEETINGS") == NULL || threads_to_meet == 0) return;
  if (atomic_fetch_add(&meeting->came, 1) + 1 == threads_to_meet) {
    meet();
    atomic_store(&meeting->goes_on, 1);
  }
  while (!atomic_load(&meeting->goes_on)) sleepUntil(nowNs() + 1000000);
}

static void takeLongest(struct Times* times, int64_t duration_ns) {
  for (int i = 0; i < kLongest; ++i) {
    if (duration_ns <= times->longest_ns[i]) continue;
    const int64_t next = times->longest_ns[i];
    times->longest_ns[i] = duration_ns;
    duration_ns = next;
  }
}

static void takeCall(struct Times* times, int64_t duration_ns) {
  ++times->calls;
  takeLongest(times, duration_ns);
  if (duration_ns >= 5000000) {
    ++times->over_5ms;
    times->stalled_ns += duration_ns;
  }
  if (duration_ns >= 20000000) ++times->over_20ms;
}

// Called by the first thread alone: threads that wait for a mutex would make events of their own.
static void addToAll(const struct Times* times) {
  all.calls += times->calls;
  all.over_5ms += times->over_5ms;
  all.over_20ms += times->over_20ms;
  if (times->stalled_ns > all.stalled_ns) all.stalled_ns = times->stalled_ns;
  for (int i = 0; i < kLongest; ++i) takeLongest(&all, times->longest_ns[i]);
}

// One to one on numbers below CALLS, since each of its parts is.
static uint64_t shuffled(uint64_t number) {
  const uint64_t mask = calls - 1;
  for (int round = 0; round < 3; ++round) {
    number = number * 0x9E3779B97F4A7C15u & mask;
    number ^= number >> 7;
    number = number * 0xD6E8FEB86659FD93u & mask;
    number ^= number >> 5;
  }
  return number;
}

static struct Times writeAll(const char* name) {
  meetWithAllThreads(&before_calls);
  PATH(path, directory, name);
  int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0666);
  CHECK(fd >= 0);
  struct Times times = {0};
  const int64_t begin = nowNs();
  for (uint64_t call = 0; call < calls; ++call) {
    if (pace_ns > 0 && call % kTogether == 0) sleepUntil(begin + (int64_t)call * pace_ns);
    const off_t offset = (off_t)shuffled(call);
    const int64_t before = nowNs();
    CHECK(pwrite(fd, "x", 1, offset) == 1);
    takeCall(&times, nowNs() - before);
  }
  meetWithAllThreads(&after_calls);
  CHECK(close(fd) == 0);
  return times;
}

struct Writer {
  int number;
  struct Times times;
  pthread_t thread;
};

static void* writeInThread(void* of_writer) {
  struct Writer* writer = of_writer;
  char name[32];
  snprintf(name, sizeof name, "thread.%d", writer->number);
  writer->times = writeAll(name);
  return NULL;
}

static void writePart(const char* prefix) {
  char name[32];
  snprintf(name, sizeof name, "%s.%d", prefix, parts++);
  const struct Times times = writeAll(name);
  addToAll(&times);
}

static void forkChild(void) {
  pid_t child = fork();
  if (child == 0) {
    writePart("child");
    _exit(9);
  }
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9);
}

static void printTimes(int64_t began_ns) {
  fprintf(stderr, "times: calls=%llu over_5ms=%llu over_20ms=%llu longest_us=",
          (unsigned long long)all.calls, (unsigned long long)all.over_5ms,
          (unsigned long long)all.over_20ms);
  for (int i = 0; i < kLongest; ++i) {
    fprintf(stderr, "%s%lld", i > 0 ? "," : "", (long long)all.longest_ns[i] / 1000);
  }
  fprintf(stderr, " stalled_us=%lld elapsed_us=%lld\n", (long long)all.stalled_ns / 1000,
          (long long)(nowNs() - began_ns) / 1000);
}

static void execRest(char** argv, char** steps) {
  static char program[4096];
  char first[32];
  char* words[64] = {argv[0], argv[1], first, argv[3], argv[4]};
  CHECK(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
  // In place of THREADS: how many files there are already.
  snprintf(first, sizeof first, "-%d", parts);
  int count = 5;
  while (*steps != NULL && count < 63) words[count++] = *steps++;
  execv(program, words);
  CHECK(!"exec");
}

static int resultOf(int result) { return result == 0 ? 0 : errno; }

static void runSteps(char** argv, char** steps) {
  // By a raw system call, which is not recorded.
  const int64_t began_ns = nowNs();
  const int home = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  CHECK(home >= 0);
  writePart("part");
  for (; *steps != NULL; ++steps) {
    int result = 0;
    if (strcmp(*steps, "exec") == 0) {
      CHECK(puts("exec 0") >= 0 && fflush(stdout) == 0);
      printTimes(began_ns);
      execRest(argv, steps + 1);
    } else if (strcmp(*steps, "fork") == 0) {
      forkChild();
    } else if (strcmp(*steps, "newns") == 0) {
      result = resultOf(unshare(CLONE_NEWNS));
    } else if (strcmp(*steps, "setns") == 0) {
      result = resultOf(setns(home, CLONE_NEWNS));
    } else if (strcmp(*steps, "setuid") == 0) {
      result = resultOf(setuid(1234));
    } else {
      CHECK(strcmp(*steps, "newuser") == 0);
      result = resultOf(unshare(CLONE_NEWUSER));
    }
    CHECK(printf("%s %d\n", *steps, result) > 0 && fflush(stdout) == 0);
    writePart("part");
  }
  printTimes(began_ns);
}

int main(int argc, char** argv) {
  const int threads = argc >= 5 ? atoi(argv[2]) : 0;
  calls = argc >= 5 ? strtoull(argv[3], NULL, 10) : 0;
  if (threads > kMostThreads || calls == 0 || (calls & (calls - 1)) != 0) {
    fprintf(stderr,
            "usage: c_slow_log DIRECTORY THREADS CALLS (a power of two) PACE_NS [STEP...]\n");
    return 2;
  }
  directory = argv[1];
  pace_ns = atoll(argv[4]);
  if (argc > 5 || threads <= 0) {
    parts = -threads * (threads < 0);
    runSteps(argv, argv + 5);
    return 0;
  }
  const int64_t began_ns = nowNs();
  threads_to_meet = threads;
  static struct Writer writers[kMostThreads];
  for (int i = 0; i < threads; ++i) writers[i].number = i;
  for (int i = 1; i < threads; ++i) {
    CHECK(pthread_create(&writers[i].thread, NULL, writeInThread, &writers[i]) == 0);
  }
  writeInThread(&writers[0]);
  for (int i = 1; i < threads; ++i) CHECK(pthread_join(writers[i].thread, NULL) == 0);
  for (int i = 0; i < threads; ++i) addToAll(&writers[i].times);
  printf("threads=%d writes=%llu\n", threads, (unsigned long long)calls * (unsigned)threads);
  fflush(stdout);
  printTimes(began_ns);
  return 0;
}
