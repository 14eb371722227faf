// Descriptors that the program does not know, and the tracer's among them.
#define _GNU_SOURCE
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "survival.h"

enum {
  kMany = 50000
};  // calls: more than a ring of the tracer holds, so it has to write in between

// The number of the tracer's descriptor, or some number where there is none.
static int foreignDescriptor(void) {
  int fd = highDescriptor();
  return fd < 0 ? 1000 : fd;
}

static void replaceBy(int (*replace)(int, int)) {
  int fd = newFile("data");
  put(fd, 100);
  int number = foreignDescriptor();
  CHECK(replace(fd, number) == number);
  put(number, kMany);
  put(fd, kMany);
  CHECK(close(number) == 0);
  put(fd, kMany);
  CHECK(fcntl(number, F_GETFD) == -1);
}

static int byDup3(int fd, int number) { return dup3(fd, number, O_CLOEXEC); }
static int byRawDup(int fd, int number) { return (int)syscall(SYS_dup3, fd, number, 0); }

static void dup2Over(void) { replaceBy(dup2); }
static void dup3Over(void) { replaceBy(byDup3); }

// The tracer cannot see this, and must neither write to a file that is not its own nor keep the
// application from what is the application's.
static void rawDupOver(void) { replaceBy(byRawDup); }

static void rawClose(void) {
  int fd = newFile("data");
  put(fd, 100);
  for (int i = 0; i < 5; ++i) {
    for (int number = fd + 1; number < 30000; ++number) syscall(SYS_close, number);
    put(fd, kMany);
  }
}

static void rawCloseRange(void) {
  int fd = newFile("data");
  put(fd, 100);
  CHECK(syscall(SYS_close_range, fd + 1, ~0U, 0) == 0);
  put(fd, kMany);
}

// A number that was the tracer's is given to what no wrapper sees: a socket.
static void rawCloseThenSocket(void) {
  int fd = newFile("data");
  put(fd, 100);
  int number = foreignDescriptor();
  syscall(SYS_close, number);
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  CHECK(syscall(SYS_dup3, ends[0], number, 0) == number);
  put(fd, kMany);
  CHECK(write(number, "hello", 5) == 5);
  char word[5];
  CHECK(read(ends[1], word, 5) == 5 && memcmp(word, "hello", 5) == 0);
  CHECK(close_range((unsigned)number, ~0U, 0) == 0);
  CHECK(fcntl(number, F_GETFD) == -1);
  put(fd, kMany);
}

static void manyOpenFiles(void) {
  enum { kFiles = 4096 };
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = kFiles + 100;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  static int files[kFiles];
  for (int i = 0; i < kFiles; ++i) {
    char name[32];
    snprintf(name, sizeof name, "many.%d", i);
    files[i] = newFile(name);
  }
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kFiles; ++i) put(files[(int)(i * 1021LL % kFiles)], 1);
  }
  for (int i = 0; i < kFiles; ++i) CHECK(close(files[i]) == 0);
}

static void standardClosed(void) {
  int out = dup(1);
  CHECK(out > 2 && close(0) == 0 && close(1) == 0 && close(2) == 0);
  for (int i = 0; i < 3; ++i) {
    char name[32];
    snprintf(name, sizeof name, "standard.%d", i);
    CHECK(newFile(name) == i);
    put(i, 100 + i);
  }
  CHECK(dup2(out, 1) == 1);
}

// How many files can be open is the limit's business alone.
static void openUntilFull(void) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  int fd = newFile("data");
  put(fd, 10);
  int opened = 0;
  int last = -1;
  for (int got; (got = open("/", O_RDONLY | O_DIRECTORY)) >= 0; ++opened) last = got;
  CHECK(errno == EMFILE);
  printf("%d more were opened, the last is %d, of %d\n", opened, last, (int)limit.rlim_cur);
  put(fd, kMany);
}

const struct Case descriptor_cases[] = {{"dup2_over", dup2Over},
                                        {"dup3_over", dup3Over},
                                        {"raw_dup_over", rawDupOver},
                                        {"raw_close", rawClose},
                                        {"raw_close_range", rawCloseRange},
                                        {"raw_close_then_socket", rawCloseThenSocket},
                                        {"many_open", manyOpenFiles},
                                        {"standard_closed", standardClosed},
                                        {"open_until_full", openUntilFull},
                                        {NULL, NULL}};
