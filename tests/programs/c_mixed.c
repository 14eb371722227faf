// Programs that mix the layers of I/O on one file, or its names: one case each, in the working
// directory.
//
//   c_mixed [CASE]      all of them without a name
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "check.h"

enum { kPage = 4096 };
static char block[16 * kPage];

static void put(int fd, size_t bytes) { CHECK(write(fd, block, bytes) == (ssize_t)bytes); }
static void get(int fd, size_t bytes) { CHECK(read(fd, block, bytes) == (ssize_t)bytes); }
static int made(int directory, const char* name) {
  const int fd = openat(directory, name, O_RDWR | O_CREAT, 0644);
  CHECK(fd >= 0);
  return fd;
}

static void streamOfDescriptor(void) {
  const int fd = made(AT_FDCWD, "stream");
  put(fd, 1000);
  FILE* const stream = fdopen(fd, "r+");
  CHECK(stream != NULL && fseek(stream, 0, SEEK_END) == 0);
  CHECK(fprintf(stream, "%0500d", 7) == 500 && fflush(stream) == 0);
  put(fileno(stream), 300);
  CHECK(fseek(stream, 100, SEEK_SET) == 0 && fread(block, 1, 50, stream) == 50);
  CHECK(lseek(fd, 1700, SEEK_SET) == 1700);
  put(fd, 100);
  CHECK(fclose(stream) == 0);
}

static void mappedAfterTruncate(void) {
  const int fd = made(AT_FDCWD, "mapped");
  put(fd, 10);
  CHECK(ftruncate(fd, 8 * kPage) == 0);
  char* const memory = mmap(NULL, 8 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(memory != MAP_FAILED);
  memset(memory + 2 * kPage, 'm', 3 * kPage);
  CHECK(munmap(memory, 8 * kPage) == 0);
  CHECK(pread(fd, block, kPage, 2 * kPage) == kPage && block[0] == 'm');
  close(fd);
}

static void unlinkedOpen(void) {
  const int fd = made(AT_FDCWD, "unlinked");
  put(fd, 100);
  CHECK(unlink("unlinked") == 0);
  put(fd, 5000);
  const int other = made(AT_FDCWD, "unlinked");  // a new file of the same name
  put(other, 70);
  CHECK(lseek(fd, 0, SEEK_SET) == 0);
  get(fd, 5100);
  close(fd);
  close(other);
}

static void withoutName(void) {
  const int fd = open(".", O_TMPFILE | O_RDWR, 0644);
  if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
    fprintf(stderr, "c_mixed: no files without a name here\n");
    return;
  }
  CHECK(fd >= 0);
  put(fd, 2000);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  CHECK(linkat(AT_FDCWD, path, AT_FDCWD, "none/named", AT_SYMLINK_FOLLOW) == -1 && errno == ENOENT);
  CHECK(linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW) == 0);
  put(fd, 500);
  const int lost = open(".", O_TMPFILE | O_RDWR, 0644);
  CHECK(lost >= 0);
  put(lost, 300);
  close(lost);
  close(fd);
}

static void directoryDescriptors(void) {
  CHECK(mkdir("d", 0755) == 0);
  const int d = open("d", O_RDONLY | O_DIRECTORY);
  CHECK(d >= 0 && mkdirat(d, "e", 0755) == 0);
  const int e = openat(d, "e", O_PATH | O_DIRECTORY);
  CHECK(e >= 0);
  int fd = made(e, "f");
  put(fd, 111);
  close(fd);
  // The directory has another name by now.
  CHECK(renameat(AT_FDCWD, "d", AT_FDCWD, "D") == 0);
  fd = made(e, "g");
  put(fd, 222);
  close(fd);
  CHECK(renameat(e, "g", d, "h") == 0);
  struct stat facts;
  CHECK(fstatat(d, "e/f", &facts, 0) == 0 && facts.st_size == 111);
  CHECK(linkat(d, "h", e, "i", 0) == 0 && unlinkat(d, "h", 0) == 0);
  close(e);
  close(d);
}

static void childInOtherDirectory(const char* directory, size_t bytes) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK(chdir(directory) == 0);
    const int fd = made(AT_FDCWD, "own");
    put(fd, bytes);
    close(fd);
    exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void workingDirectories(void) {
  CHECK(mkdir("one", 0755) == 0 && mkdir("two", 0755) == 0);
  const int home = open(".", O_RDONLY | O_DIRECTORY);
  childInOtherDirectory("one", 10);
  CHECK(chdir("two") == 0);
  int fd = made(AT_FDCWD, "own");
  put(fd, 20);
  close(fd);
  childInOtherDirectory("../one", 30);  // over the 10 of before
  CHECK(fchdir(home) == 0);
  fd = made(AT_FDCWD, "two/../one/../own");
  put(fd, 40);
  close(fd);
  close(home);
}

static void manyNames(void) {
  const int fd = made(AT_FDCWD, "first");
  put(fd, 1000);
  CHECK(link("first", "second") == 0 && rename("first", "third") == 0);
  const int by_other = open("second", O_WRONLY | O_APPEND);
  CHECK(by_other >= 0);
  put(by_other, 500);
  put(fd, 100);  // over the first of these
  const int copy = fcntl(fd, F_DUPFD, 100);
  CHECK(copy >= 100 && dup2(by_other, fd) == fd);
  put(fd, 50);
  CHECK(lseek(copy, 0, SEEK_CUR) == 1100);
  CHECK(symlink("second", "link") == 0);
  const int by_link = open("link", O_WRONLY);
  CHECK(by_link >= 0 && pwrite(by_link, block, 10, 3000) == 10);
  struct stat facts;
  CHECK(stat("third", &facts) == 0 && facts.st_size == 3010);
  close(by_link);
  close(copy);
  close(by_other);
  close(fd);
}

static void overItself(void) {
  // As editors and databases do it: a new file takes the place of one that others have open.
  int old = made(AT_FDCWD, "current");
  put(old, 4000);
  for (int i = 1; i <= 3; ++i) {
    const int next = made(AT_FDCWD, "current.new");
    put(next, (size_t)(1000 * i));
    CHECK(fsync(next) == 0 && close(next) == 0);
    CHECK(rename("current.new", "current") == 0);
  }
  CHECK(lseek(old, 0, SEEK_SET) == 0);
  get(old, 4000);
  close(old);
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {{"stream", streamOfDescriptor},
             {"mapped", mappedAfterTruncate},
             {"unlinked", unlinkedOpen},
             {"unnamed", withoutName},
             {"directories", directoryDescriptors},
             {"chdir", workingDirectories},
             {"names", manyNames},
             {"replaced", overItself}};

int main(int count, char** words) {
  memset(block, 'x', sizeof block);
  int known = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (count > 1 && strcmp(words[1], cases[i].name) != 0) continue;
    cases[i].run();
    known = 1;
  }
  CHECK(known);
  return 0;
}
