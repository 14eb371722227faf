// Calls that fail for what their arguments are, and a splice that stops where the pipe is full: a
// replay has other memory and pipes of its own, and must get the same results.
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "check.h"

static char* bad;  // memory that cannot be read or written
static char good[4096];
// Compilers warn of what they can see.
static volatile int negative = -1, too_many = IOV_MAX + 1;

// All of them leave the file and its position as they are.
static void failsFor(int error, ssize_t result) { CHECK(result == -1 && errno == error); }

static void badBuffers(int fd) {
  struct iovec one = {bad, 1000}, two[2] = {{bad, 500}, {bad, 500}};
  failsFor(EFAULT, read(fd, bad, 10));
  failsFor(EFAULT, pread(fd, bad, 10, 5));
  failsFor(EFAULT, write(fd, bad, 10));
  failsFor(EFAULT, pwrite(fd, bad, 10, 5));
  failsFor(EFAULT, readv(fd, &one, 1));
  failsFor(EFAULT, preadv(fd, two, 2, 3));
  failsFor(EFAULT, writev(fd, &one, 1));
  failsFor(EFAULT, pwritev(fd, two, 2, 3));
}

static void wrongFiles(int fd) {
  struct iovec one = {good, 1000};
  const int directory = open(".", O_RDONLY), reader = open("f", O_RDONLY),
            writer = open("f", O_WRONLY);
  CHECK(directory >= 0 && reader >= 0 && writer >= 0);
  failsFor(EISDIR, read(directory, good, 10));
  failsFor(EISDIR, readv(directory, &one, 1));
  failsFor(EISDIR, preadv(directory, &one, 1, 0));
  failsFor(EBADF, write(reader, good, 10));
  failsFor(EBADF, writev(reader, &one, 1));
  failsFor(EBADF, pwritev(reader, &one, 1, 7));
  failsFor(EBADF, read(writer, good, 10));
  failsFor(EBADF, readv(writer, &one, 1));
  failsFor(EINVAL, readv(fd, &one, negative));
  failsFor(EINVAL, writev(fd, &one, too_many));
  failsFor(EINVAL, pread(fd, good, 10, -5));
}

static void splices(void) {
  int ends[2];
  char taken[65536];
  const int fd = open("large", O_CREAT | O_TRUNC | O_RDWR, 0644);
  CHECK(fd >= 0 && pipe(ends) == 0);
  for (int i = 0; i < 100; ++i) CHECK(write(fd, good, sizeof good) == sizeof good);
  // From an odd place on: less fits than the pipe has room for.
  loff_t at = 100;
  for (;;) {
    const ssize_t moved = splice(fd, &at, ends[1], NULL, 1 << 20, SPLICE_F_NONBLOCK);
    CHECK(moved >= 0);
    if (moved == 0) break;
    for (ssize_t left = moved; left > 0;) {
      const ssize_t got = read(ends[0], taken, sizeof taken);
      CHECK(got > 0);
      left -= got;
    }
  }
  CHECK(at == 409600);
}

int main(void) {
  bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int fd = open("f", O_CREAT | O_TRUNC | O_RDWR, 0644);
  CHECK(bad != MAP_FAILED && fd >= 0 && write(fd, good, 100) == 100 && lseek(fd, 0, SEEK_SET) == 0);
  badBuffers(fd);
  wrongFiles(fd);
  splices();
  CHECK(lseek(fd, 0, SEEK_CUR) == 0 && lseek(fd, 0, SEEK_END) == 100);
  return 0;
}
