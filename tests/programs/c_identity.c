/* Files with several names, names of several files, and positions that descriptors share: one small
 * program for each case, which says by itself what the kernel has of each file.
 *
 *   c_identity CASE     runs in the working directory, which is empty
 *
 * At its end each process prints a line for each file that it used (by inode number):
 *
 *   file INODE read BYTES written BYTES furthest BYTES size BYTES operations N creates N cuts N
 *        extending N overwriting N
 *
 * `furthest` is the furthest byte that it moved, `operations` are opens, closes, reads and writes.
 * `creates` made the file or another name of it, `cuts` made it shorter. `extending` writes end
 * past the end of the file as it was, `overwriting` ones do not. Requests are multiples of 4096
 * bytes.
 *
 * Nothing that is done to find this out can be seen by a preloaded library. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef WITH_MPI
#include <mpi.h>
#endif

enum { kPage = 4096, kMaxFiles = 16 };

struct File {
  uint64_t inode;
  long long size;
  long long read, written, furthest;
  int operations, creates, cuts, extending, overwriting;
};

static struct File files[kMaxFiles];
static int file_count;
static char block[16 * kPage];

/* A system call without the C library. */
static long bare(long number, long a, long b, long c, long d, long e) {
#ifdef __x86_64__
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
#else
  return syscall(number, a, b, c, d, e);
#endif
}

static void fail(const char* what) {
  fprintf(stderr, "c_identity: %s: %s\n", what, strerror(errno));
  _exit(1);
}

static void need(int condition, const char* what) {
  if (!condition) fail(what);
}

/* Of a path, or of a descriptor where that is NULL. Returns whether there is a file. */
static int look(int fd, const char* path, struct statx* found) {
  const long done = bare(SYS_statx, path == NULL ? fd : AT_FDCWD, (long)(path == NULL ? "" : path),
                         path == NULL ? AT_EMPTY_PATH : 0, STATX_BASIC_STATS, (long)found);
  return done == 0;
}

static struct File* fileOf(const struct statx* found) {
  int i = 0;
  while (i < file_count && files[i].inode != found->stx_ino) ++i;
  need(i < kMaxFiles, "too many files");
  if (i == file_count) files[file_count++].inode = found->stx_ino;
  files[i].size = (long long)found->stx_size;
  return &files[i];
}

static struct File* behind(int fd) {
  struct statx found;
  need(look(fd, NULL, &found), "statx");
  return fileOf(&found);
}

/* The file that the path leads to, NULL where there is none. */
static struct File* named(const char* path) {
  struct statx found;
  return look(-1, path, &found) ? fileOf(&found) : NULL;
}

/* What an open did: `before` is the file that the path led to, and how long it was. */
static int opened(int fd, struct File* before, long long size_before, const char* path) {
  need(fd >= 0, path);
  struct File* file = behind(fd);
  ++file->operations;
  if (before == NULL) ++file->creates;
  if (file == before && file->size < size_before) ++file->cuts;
  return fd;
}

static int openFile(const char* path, int flags) {
  struct File* before = named(path);
  const long long size = before == NULL ? 0 : before->size;
  return opened(open(path, flags, 0644), before, size, path);
}

static int createFile(const char* path) {
  struct File* before = named(path);
  const long long size = before == NULL ? 0 : before->size;
  return opened(creat(path, 0644), before, size, path);
}

static void closeFile(int fd) {
  ++behind(fd)->operations;
  need(close(fd) == 0, "close");
}

static void wrote(struct File* file, long long size_before, long long end, ssize_t bytes) {
  file->written += bytes;
  ++file->operations;
  if (end > size_before) {
    ++file->extending;
  } else {
    ++file->overwriting;
  }
  if (end > file->furthest) file->furthest = end;
}

static void put(int fd, int pages) {
  const long long before = behind(fd)->size;
  const ssize_t done = write(fd, block, (size_t)pages * kPage);
  need(done == (ssize_t)pages * kPage, "write");
  const long long end = bare(SYS_lseek, fd, 0, SEEK_CUR, 0, 0);
  wrote(behind(fd), before, end, done);
}

static void putAt(int fd, int pages, int page) {
  const long long before = behind(fd)->size;
  const ssize_t done = pwrite(fd, block, (size_t)pages * kPage, (off_t)page * kPage);
  need(done == (ssize_t)pages * kPage, "pwrite");
  wrote(behind(fd), before, (long long)(page + pages) * kPage, done);
}

static void got(struct File* file, long long end, ssize_t bytes) {
  file->read += bytes;
  ++file->operations;
  if (end > file->furthest) file->furthest = end;
}

static void get(int fd, int pages) {
  const ssize_t done = read(fd, block, (size_t)pages * kPage);
  need(done == (ssize_t)pages * kPage, "read");
  got(behind(fd), bare(SYS_lseek, fd, 0, SEEK_CUR, 0, 0), done);
}

static void getAt(int fd, int pages, int page) {
  const ssize_t done = pread(fd, block, (size_t)pages * kPage, (off_t)page * kPage);
  need(done == (ssize_t)pages * kPage, "pread");
  got(behind(fd), (long long)(page + pages) * kPage, done);
}

static void linkFile(const char* path, const char* name) {
  ++named(path)->creates;
  need(link(path, name) == 0, "link");
}

/* `path` is from where `name` lies, which is the working directory. */
static void symlinkFile(const char* path, const char* name) {
  ++named(path)->creates;
  need(symlink(path, name) == 0, "symlink");
}

static void toStart(int fd) { need(lseek(fd, 0, SEEK_SET) == 0, "lseek"); }

static void makeFile(const char* path, int pages) {
  const int fd = openFile(path, O_CREAT | O_WRONLY | O_TRUNC);
  put(fd, pages);
  closeFile(fd);
}

static void readFile(const char* path, int pages) {
  const int fd = openFile(path, O_RDONLY);
  get(fd, pages);
  closeFile(fd);
}

static void appendTo(const char* path, int pages) {
  const int fd = openFile(path, O_WRONLY | O_APPEND);
  put(fd, pages);
  closeFile(fd);
}

static void report(void) {
  for (int i = 0; i < file_count; ++i) {
    const struct File* file = &files[i];
    char line[512];
    const int length = snprintf(
        line, sizeof line,
        "file %llu read %lld written %lld furthest %lld size %lld operations %d creates %d cuts %d "
        "extending %d overwriting %d\n",
        (unsigned long long)file->inode, file->read, file->written, file->furthest, file->size,
        file->operations, file->creates, file->cuts, file->extending, file->overwriting);
    bare(SYS_write, STDOUT_FILENO, (long)line, length, 0, 0);
  }
}

/* ---- one file, several names ---- */

static void hardLink(void) {
  makeFile("first", 4);
  linkFile("first", "second");
  const int fd = openFile("second", O_RDWR);
  need(lseek(fd, 0, SEEK_END) == 4 * kPage, "lseek");
  put(fd, 2);
  closeFile(fd);
  readFile("first", 6);
}

static void hardLinkAcross(void) {
  need(mkdir("one", 0755) == 0 && mkdir("two", 0755) == 0, "mkdir");
  makeFile("one/name", 4);
  const int one = open("one", O_RDONLY | O_DIRECTORY);
  const int two = open("two", O_RDONLY | O_DIRECTORY);
  ++named("one/name")->creates;
  need(linkat(one, "name", two, "other", 0) == 0, "linkat");
  need(close(one) == 0 && close(two) == 0, "close");
  need(unlink("one/name") == 0, "unlink");
  const int fd = openFile("two/other", O_RDWR);
  putAt(fd, 1, 1);
  closeFile(fd);
  appendTo("two/other", 2);
  readFile("two/other", 6);
}

static void linkedTemporary(void) {
  const int fd = open(".", O_TMPFILE | O_RDWR, 0644);
  need(fd >= 0, "O_TMPFILE");
  ++behind(fd)->operations;
  ++behind(fd)->creates;
  put(fd, 4);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  ++behind(fd)->creates;
  need(linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW) == 0, "linkat");
  put(fd, 1);
  closeFile(fd);
  appendTo("named", 1);
  readFile("named", 6);
}

static void symlinkToFile(void) {
  makeFile("file", 4);
  symlinkFile("file", "link");
  readFile("link", 4);
  appendTo("link", 2);
}

static void symlinkToDirectory(void) {
  need(mkdir("folder", 0755) == 0, "mkdir");
  symlinkFile("folder", "link");
  makeFile("link/file", 4);
  appendTo("folder/file", 2);
  readFile("link/file", 6);
}

/* ---- names that move ---- */

static void renamedDirectory(void) {
  need(mkdir("old", 0755) == 0 && mkdir("old/sub", 0755) == 0, "mkdir");
  const int fd = openFile("old/sub/file", O_CREAT | O_RDWR);
  put(fd, 4);
  need(rename("old", "new") == 0, "rename");
  put(fd, 1);
  closeFile(fd);
  appendTo("new/sub/file", 1);
  readFile("new/sub/file", 6);
  makeFile("new/sub/later", 3);
}

/* As checkpoints are written. */
static void renamedOutput(void) {
  makeFile("temporary", 4);
  need(rename("temporary", "first") == 0, "rename");
  makeFile("temporary", 2);
  need(rename("temporary", "second") == 0, "rename");
  appendTo("first", 1);
  readFile("first", 5);
  readFile("second", 2);
}

static void renamedOverOpen(void) {
  const int fd = openFile("file", O_CREAT | O_RDWR | O_TRUNC);
  put(fd, 4);
  makeFile("other", 2);
  need(rename("other", "file") == 0, "rename");
  getAt(fd, 4, 0);
  put(fd, 1);
  closeFile(fd);
  appendTo("file", 1);
  readFile("file", 3);
}

static void rotatedLog(void) {
  int fd = openFile("log", O_CREAT | O_WRONLY | O_APPEND);
  put(fd, 2);
  need(rename("log", "log.old") == 0, "rename");
  put(fd, 1);
  closeFile(fd);
  fd = openFile("log", O_CREAT | O_WRONLY | O_APPEND);
  put(fd, 1);
  closeFile(fd);
  readFile("log.old", 3);
}

static void exchanged(void) {
  const int fd = openFile("one", O_CREAT | O_RDWR | O_TRUNC);
  put(fd, 4);
  makeFile("two", 2);
  need(renameat2(AT_FDCWD, "one", AT_FDCWD, "two", RENAME_EXCHANGE) == 0, "renameat2");
  put(fd, 1);
  closeFile(fd);
  appendTo("one", 1);
  readFile("one", 3);
  readFile("two", 5);
}

/* ---- a name that comes again ---- */

static void unlinkedOpen(void) {
  const int fd = openFile("file", O_CREAT | O_RDWR | O_TRUNC);
  put(fd, 4);
  need(unlink("file") == 0, "unlink");
  const int other = openFile("file", O_CREAT | O_RDWR | O_EXCL);
  put(other, 2);
  getAt(fd, 4, 0);
  put(fd, 1);
  closeFile(fd);
  closeFile(other);
  appendTo("file", 1);
  readFile("file", 3);
}

/* ---- files that become empty: the four are the same by POSIX ---- */

static void overBy(int (*again)(void)) {
  makeFile("file", 8);
  const int fd = again();
  put(fd, 2);
  putAt(fd, 2, 2);
  closeFile(fd);
}

static int cutByCreat(void) { return createFile("file"); }
static int cutByOpen(void) { return openFile("file", O_CREAT | O_WRONLY | O_TRUNC); }
static int cutByTruncate(void) {
  ++named("file")->cuts;
  need(truncate("file", 0) == 0, "truncate");
  return openFile("file", O_WRONLY);
}
static int cutByFtruncate(void) {
  const int fd = openFile("file", O_WRONLY);
  ++behind(fd)->cuts;
  need(ftruncate(fd, 0) == 0, "ftruncate");
  return fd;
}

static void creatOver(void) { overBy(cutByCreat); }
static void openOver(void) { overBy(cutByOpen); }
static void truncateOver(void) { overBy(cutByTruncate); }
static void ftruncateOver(void) { overBy(cutByFtruncate); }

/* ---- appending ---- */

static void appendByOpen(void) {
  makeFile("file", 2);
  const int fd = openFile("file", O_WRONLY | O_APPEND);
  for (int i = 0; i < 5; ++i) put(fd, 1);
  closeFile(fd);
}

static void setFlags(int fd, int flags) { need(fcntl(fd, F_SETFL, flags) == 0, "F_SETFL"); }

static void appendByFcntl(void) {
  makeFile("file", 2);
  const int fd = openFile("file", O_WRONLY);
  setFlags(fd, O_APPEND);
  for (int i = 0; i < 5; ++i) put(fd, 1);
  closeFile(fd);
}

/* The flag is the description's: a duplicate has it too. */
static void appendByDuplicate(void) {
  makeFile("file", 2);
  const int fd = openFile("file", O_WRONLY);
  const int copy = dup(fd);
  setFlags(copy, O_APPEND);
  for (int i = 0; i < 5; ++i) put(fd, 1);
  closeFile(fd);
  closeFile(copy);
}

static void appendNoMore(void) {
  makeFile("file", 4);
  const int fd = openFile("file", O_WRONLY | O_APPEND);
  put(fd, 1);
  setFlags(fd, 0);
  toStart(fd);
  put(fd, 2);
  setFlags(fd, O_APPEND);
  put(fd, 1);
  closeFile(fd);
}

/* ---- shared descriptions ---- */

static void duplicatedOver(void) {
  const int fd = openFile("file", O_CREAT | O_WRONLY | O_TRUNC);
  const int other = openFile("other", O_CREAT | O_WRONLY | O_TRUNC);
  put(fd, 4);
  put(other, 1);
  need(dup2(fd, other) == other, "dup2");
  put(other, 2);
  closeFile(fd);
  put(other, 1);
  closeFile(other);
}

static void forked(void) {
  const int fd = openFile("file", O_CREAT | O_RDWR | O_TRUNC);
  put(fd, 4);
  const pid_t child = fork();
  need(child >= 0, "fork");
  if (child == 0) {
    memset(files, 0, sizeof files);
    file_count = 0;
    put(fd, 2);
    report();
    exit(0);
  }
  int status = 0;
  need(waitpid(child, &status, 0) == child && status == 0, "waitpid");
  put(fd, 1);
  toStart(fd);
  get(fd, 7);
  closeFile(fd);
}

/* ---- copies ---- */

static void copied(void) {
  makeFile("from", 4);
  const int from = openFile("from", O_RDONLY);
  const int to = openFile("to", O_CREAT | O_WRONLY | O_TRUNC);
  const long long before = behind(to)->size;
  need(copy_file_range(from, NULL, to, NULL, 4 * kPage, 0) == 4 * kPage, "copy_file_range");
  got(behind(from), 4 * kPage, 4 * kPage);
  wrote(behind(to), before, 4 * kPage, 4 * kPage);
  put(to, 1);
  closeFile(from);
  closeFile(to);
  readFile("to", 5);
}

/* ---- ranks ---- */

#ifdef WITH_MPI
static void ranks(void) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    makeFile("first", 4);
    linkFile("first", "second");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    readFile("second", 4);
    appendTo("second", 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) readFile("first", 5);
}

/* One rank names what both have written. */
static void ranksRename(void) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) need(mkdir("old", 0755) == 0, "mkdir");
  MPI_Barrier(MPI_COMM_WORLD);
  makeFile(rank == 0 ? "old/zero" : "old/one", 4);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) need(rename("old", "new") == 0, "rename");
  MPI_Barrier(MPI_COMM_WORLD);
  readFile(rank == 0 ? "new/one" : "new/zero", 4);
}
#endif

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {
#ifdef WITH_MPI
    {"ranks", ranks},
    {"ranks_rename", ranksRename},
#else
    {"hard_link", hardLink},
    {"hard_link_across", hardLinkAcross},
    {"linked_temporary", linkedTemporary},
    {"symlink_to_file", symlinkToFile},
    {"symlink_to_directory", symlinkToDirectory},
    {"renamed_directory", renamedDirectory},
    {"renamed_output", renamedOutput},
    {"renamed_over_open", renamedOverOpen},
    {"rotated_log", rotatedLog},
    {"exchanged", exchanged},
    {"unlinked_open", unlinkedOpen},
    {"creat_over", creatOver},
    {"open_over", openOver},
    {"truncate_over", truncateOver},
    {"ftruncate_over", ftruncateOver},
    {"append_by_open", appendByOpen},
    {"append_by_fcntl", appendByFcntl},
    {"append_by_duplicate", appendByDuplicate},
    {"append_no_more", appendNoMore},
    {"duplicated_over", duplicatedOver},
    {"forked", forked},
    {"copied", copied},
#endif
};

int main(int argc, char** argv) {
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
#endif
  int known = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (argc < 2 || strcmp(argv[1], cases[i].name) != 0) continue;
    known = 1;
    cases[i].run();
  }
  report();
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  return known ? 0 : 2;
}
