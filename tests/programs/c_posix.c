// Unbuffered I/O by every name that a C program can use for it. Built three times: plainly, with
// 64-bit offsets (open64, pread64, ...), and fortified (__read_chk, __open_2, ...).
//
//   c_posix DIRECTORY
//
// The results are checked here; how often each call was made is counted from outside.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "check.h"

// Sizes and flags the compiler cannot know: only then does it emit the fortified names.
static volatile size_t size4 = 4, size10 = 10, size100 = 100;
static volatile int read_only = O_RDONLY;

// Written whole and read whole by the plain pair of calls; the last read is short, then empty.
static void plainCalls(const char* directory) {
  PATH(path, directory, "plain.dat");
  int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0644);
  CHECK(fd >= 0);
  for (int i = 0; i < 7; ++i) CHECK(write(fd, "0123456789", size10) == 10);
  CHECK(lseek(fd, 0, SEEK_SET) == 0);
  char buffer[100];
  CHECK(read(fd, buffer, size4) == 4 && memcmp(buffer, "0123", 4) == 0);
  CHECK(read(fd, buffer, size100) == 66);
  CHECK(read(fd, buffer, size100) == 0);
  CHECK(lseek(fd, -5, SEEK_END) == 65);
  CHECK(lseek64(fd, 5, SEEK_CUR) == 70);
  CHECK(fsync(fd) == 0 && fdatasync(fd) == 0);
  CHECK(ftruncate(fd, 50) == 0);
  CHECK(flock(fd, LOCK_EX) == 0 && flock(fd, LOCK_UN) == 0);
  CHECK(close(fd) == 0);
}

static void positionedCalls(const char* directory) {
  PATH(path, directory, "positioned.dat");
  int fd = open64(path, O_CREAT | O_RDWR, 0644);
  CHECK(fd >= 0);
  char first[3] = "abc", second[5] = "defgh", buffer[100], tail[100];
  struct iovec parts[2] = {{first, sizeof first}, {second, sizeof second}};
  CHECK(writev(fd, parts, 2) == 8);
  CHECK(pwrite(fd, "0123456789", size10, 100) == 10);
  CHECK(pwrite64(fd, "0123456789", 10, 200) == 10);
  CHECK(pwritev(fd, parts, 2, 300) == 8);
  CHECK(pwritev64(fd, parts, 2, 400) == 8);
  CHECK(pwritev2(fd, parts, 1, 500, 0) == 3);
  CHECK(pread(fd, buffer, size10, 100) == 10 && buffer[9] == '9');
  CHECK(pread64(fd, buffer, size4, 200) == 4);
  CHECK(pread(fd, buffer, size100, 450) == 53);
  struct iovec into[2] = {{buffer, 4}, {tail, 100}};
  CHECK(lseek(fd, 0, SEEK_SET) == 0);
  CHECK(readv(fd, into, 2) == 104);
  CHECK(preadv(fd, into, 2, 300) == 104);
  CHECK(preadv64(fd, into, 1, 400) == 4);
  CHECK(preadv2(fd, into, 2, -1, 0) == 104);  // -1: at the descriptor's own position
  CHECK(lseek(fd, 0, SEEK_CUR) == 208);
  CHECK(close(fd) == 0);
}

// Duplicates share one file and one offset; a number is used again after a close.
static void duplicatedDescriptors(const char* directory) {
  PATH(path, directory, "duplicated.dat");
  PATH(other_path, directory, "reused.dat");
  int fd = creat(path, 0644);
  CHECK(fd >= 0);
  int copy = dup(fd);
  int chosen = dup2(fd, 77);
  int closing = dup3(fd, 78, O_CLOEXEC);
  int above = fcntl(fd, F_DUPFD, 90);
  int above_closing = fcntl(fd, F_DUPFD_CLOEXEC, 90);
  CHECK(copy >= 0 && chosen == 77 && closing == 78 && above >= 90 && above_closing > above);
  const int all[] = {fd, copy, chosen, closing, above, above_closing};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) CHECK(write(all[i], "12345", 5) == 5);
  CHECK(lseek(copy, 0, SEEK_CUR) == 30);
  CHECK(close(fd) == 0);
  int again = open(other_path, O_CREAT | O_WRONLY, 0644);
  CHECK(again == fd);
  CHECK(write(again, "other", 5) == 5);
  CHECK(write(copy, "67890", 5) == 5);
  CHECK(dup2(again, chosen) == chosen);  // ends 77's share in the first file
  CHECK(write(chosen, "!", 1) == 1);
  CHECK(close(again) == 0 && close(copy) == 0 && close(chosen) == 0);
  CHECK(close(closing) == 0 && close(above) == 0 && close(above_closing) == 0);
}

static void namesAndFailures(const char* directory) {
  PATH(missing, directory, "missing.dat");
  PATH(old_name, directory, "old.dat");
  PATH(new_name, directory, "new.dat");
  PATH(unlinked, directory, "unlinked.dat");
  CHECK(open(missing, read_only) == -1 && errno == ENOENT);
  int fd = creat64(old_name, 0600);
  CHECK(fd >= 0 && write(fd, "renamed", 7) == 7 && close(fd) == 0);
  CHECK(open(old_name, O_CREAT | O_EXCL | O_WRONLY, 0600) == -1 && errno == EEXIST);
  CHECK(rename(old_name, new_name) == 0);
  CHECK(open(old_name, O_RDONLY) == -1 && errno == ENOENT);
  fd = open(new_name, O_WRONLY | O_APPEND);
  CHECK(fd >= 0);
  CHECK(lseek(fd, 0, SEEK_SET) == 0 && write(fd, "+end", 4) == 4);
  CHECK(lseek(fd, 0, SEEK_CUR) == 11);
  CHECK(read(fd, missing, 1) == -1 && errno == EBADF);
  CHECK(close(fd) == 0);
  // A file without a name is still a file.
  fd = open(unlinked, O_CREAT | O_RDWR, 0600);
  CHECK(fd >= 0 && unlink(unlinked) == 0);
  CHECK(write(fd, "gone", 4) == 4 && pread(fd, missing, 4, 0) == 4 && close(fd) == 0);
  CHECK(close(fd) == -1 && errno == EBADF);
}

static void relativeNames(const char* directory) {
  char before[4096];
  CHECK(getcwd(before, sizeof before) != NULL);
  PATH(below, directory, "below");
  CHECK(mkdir(below, 0755) == 0);
  CHECK(chdir(below) == 0);
  int fd = open("relative.dat", O_CREAT | O_WRONLY, 0644);
  CHECK(fd >= 0 && write(fd, "relative", 8) == 8 && close(fd) == 0);
  fd = open("../below/./relative.dat", read_only);
  char buffer[16];
  CHECK(fd >= 0 && read(fd, buffer, sizeof buffer) == 8 && close(fd) == 0);
  CHECK(chdir(before) == 0);
  int folder = open(below, O_RDONLY | O_DIRECTORY);
  CHECK(folder >= 0);
  fd = openat(folder, "at.dat", O_CREAT | O_WRONLY, 0644);
  CHECK(fd >= 0 && write(fd, "at", 2) == 2 && close(fd) == 0);
  fd = openat(folder, "at.dat", read_only);
  CHECK(fd >= 0 && read(fd, buffer, size10) == 2 && close(fd) == 0);
  fd = openat64(folder, "at.dat", O_WRONLY | O_APPEND);
  CHECK(fd >= 0 && write(fd, "64", 2) == 2 && close(fd) == 0);
  CHECK(close(folder) == 0);
}

// The name is random: it is renamed away, so that two runs leave the same files behind.
static void temporaryFile(const char* directory) {
  PATH(template, directory, "temporary.XXXXXX");
  PATH(kept, directory, "kept.dat");
  int fd = mkstemp(template);
  CHECK(fd >= 0 && write(fd, "temporary", 9) == 9 && close(fd) == 0);
  CHECK(rename(template, kept) == 0);
}

int main(int argc, char** argv) {
  if (argc != 2) return fprintf(stderr, "usage: c_posix DIRECTORY\n"), 2;
  plainCalls(argv[1]);
  positionedCalls(argv[1]);
  duplicatedDescriptors(argv[1]);
  namesAndFailures(argv[1]);
  relativeNames(argv[1]);
  temporaryFile(argv[1]);
  return 0;
}
