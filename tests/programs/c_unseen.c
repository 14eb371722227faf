// Moves bytes in ways that a tracer has to account for, each asked for by name:
//
//   c_unseen WAY MIB
//
// inline   writes by system calls of its own, which no library function stands for
// calls    writes and reads by the C library's functions
// pipe     sends through a pipe to itself
// stream   reads a file by fread, 8 bytes from each of many places
// child    lets a child do what `calls` does, and waits for it
// send     sends a file to a socket and to a pipe, half of it each, in pieces and at positions
// map      writes a file through a mapping
// private  changes the pages of a private mapping of a file that it may only read
// after    does what `inline` does after it had children in all ways
// little   writes a hundred times as much by calls, and then does what `inline` does
// ends     does all by system calls of its own, and ends by one
// both     writes by calls, does what `inline` does, and ends by a system call of its own
// nothing  does no I/O of its own
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                            \
  do {                                                              \
    if (!(condition)) {                                             \
      fprintf(stderr, "c_unseen.c:%d: %s\n", __LINE__, #condition); \
      exit(1);                                                      \
    }                                                               \
  } while (0)

enum { kMib = 1 << 20 };
static char block[kMib];
static int mib;

static long systemCall(long number, long a, long b, long c, long d) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                   : "rcx", "r11", "memory");
  return result;
#else
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
#endif
}

static int make(const char* name) {
  const int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0);
  return fd;
}

static void writeInline(void) {
  const int fd = make("inline");
  for (int i = 0; i < mib; ++i) {
    CHECK(systemCall(SYS_write, fd, (long)block, sizeof block, 0) == (long)sizeof block);
  }
  close(fd);
}

static void writeByCalls(void) {
  const int fd = make("calls");
  for (int i = 0; i < mib; ++i) CHECK(write(fd, block, sizeof block) == (ssize_t)sizeof block);
  for (int i = 0; i < mib; ++i) {
    CHECK(pread(fd, block, sizeof block, (off_t)i * kMib) == (ssize_t)sizeof block);
  }
  close(fd);
}

static void sendThroughPipe(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  enum { kPiece = 4096 };
  for (int i = 0; i < mib * (kMib / kPiece); ++i) {
    CHECK(write(ends[1], block, kPiece) == kPiece);
    CHECK(read(ends[0], block, kPiece) == kPiece);
  }
}

static void readStream(void) {
  const int fd = make("stream");
  CHECK(ftruncate(fd, (off_t)mib * kMib) == 0);
  close(fd);
  FILE* const file = fopen("stream", "r");
  CHECK(file != NULL);
  for (long at = 0; at < (long)mib * kMib; at += 65536) {
    CHECK(fseek(file, at, SEEK_SET) == 0);
    CHECK(fread(block, 8, 1, file) == 1);
  }
  fclose(file);
}

// Both ends are emptied by a child.
static void sendFile(void) {
  const int made = make("send");
  CHECK(ftruncate(made, (off_t)mib * kMib) == 0);
  CHECK(close(made) == 0);
  int ends[2], pipes[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && pipe(pipes) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    close(ends[0]);
    close(pipes[1]);
    while (read(ends[1], block, sizeof block) > 0) {
    }
    while (read(pipes[0], block, sizeof block) > 0) {
    }
    _exit(0);
  }
  close(ends[1]);
  close(pipes[0]);
  const int fd = open("send", O_RDONLY);
  CHECK(fd >= 0);
  const off_t half = (off_t)mib * kMib / 2;
  off_t at = half;
  while (at < 2 * half) CHECK(sendfile(ends[0], fd, &at, (size_t)(2 * half - at)) > 0);
  CHECK(sendfile(ends[0], fd, &at, kMib) == 0);  // the end of the file
  close(ends[0]);
  for (off_t sent = 0; sent < half;) {
    const ssize_t more = sendfile(pipes[1], fd, NULL, (size_t)(half - sent));
    CHECK(more > 0);
    sent += more;
  }
  CHECK(sendfile(-1, fd, NULL, kMib) == -1);
  close(pipes[1]);
  close(fd);
  CHECK(waitpid(child, NULL, 0) == child);
}

static void letChild(void) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    writeByCalls();
    exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  close(make("parent"));
}

static void writeMapped(void) {
  const int fd = make("map");
  CHECK(ftruncate(fd, (off_t)mib * kMib) == 0);
  // A part of the mapping is behind the end of the file.
  const size_t bytes = (size_t)(mib + 1) * kMib;
  char* const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(memory != MAP_FAILED);
  memset(memory, 'm', (size_t)mib * kMib);
  CHECK(munmap(memory, bytes) == 0);
  CHECK(mmap(NULL, 1, PROT_READ, MAP_SHARED, -1, 0) == MAP_FAILED && errno == EBADF);
  close(fd);
}

// Other processes see nothing of what is written there, nor does the file.
static void changePrivately(void) {
  const int made = make("private");
  CHECK(ftruncate(made, (off_t)mib * kMib) == 0);
  CHECK(fchmod(made, 0444) == 0);
  CHECK(close(made) == 0);
  const int fd = open("private", O_RDONLY);
  CHECK(fd >= 0);
  char* const memory = mmap(NULL, (size_t)mib * kMib, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  CHECK(memory != MAP_FAILED);
  for (size_t at = 0; at < (size_t)mib * kMib; at += 4096) memory[at] = 'p';
  CHECK(munmap(memory, (size_t)mib * kMib) == 0);
  close(fd);
}

static void writeAfterChildren(void) {
  CHECK(system("true") == 0);
  FILE* const pipe = popen("cat /dev/zero | head -c 3000000", "r");
  CHECK(pipe != NULL);
  while (fread(block, 1, sizeof block, pipe) > 0) {
  }
  CHECK(pclose(pipe) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    writeByCalls();
    exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  const pid_t left = fork();  // and one that is not waited for
  CHECK(left >= 0);
  if (left == 0) _exit(0);
  writeInline();
}

static void writeLittleInline(void) {
  const int fd = make("much");
  for (int i = 0; i < 100 * mib; ++i) {
    CHECK(pwrite(fd, block, sizeof block, 0) == (ssize_t)sizeof block);
  }
  close(fd);
  writeInline();
}

static void endInline(void) {
  const long fd =
      systemCall(SYS_openat, AT_FDCWD, (long)"ends", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  for (int i = 0; i < mib; ++i) {
    CHECK(systemCall(SYS_write, fd, (long)block, sizeof block, 0) == (long)sizeof block);
  }
  systemCall(SYS_exit_group, 0, 0, 0, 0);
}

static void endAfterCalls(void) {
  const int fd = make("both");
  for (int i = 0; i < mib; ++i) CHECK(write(fd, block, sizeof block) == (ssize_t)sizeof block);
  writeInline();
  systemCall(SYS_exit_group, 0, 0, 0, 0);
}

int main(int count, char** words) {
  CHECK(count == 3);
  mib = atoi(words[2]);
  memset(block, 'x', sizeof block);
  const struct {
    const char* name;
    void (*run)(void);
  } ways[] = {{"inline", writeInline},
              {"calls", writeByCalls},
              {"pipe", sendThroughPipe},
              {"stream", readStream},
              {"child", letChild},
              {"send", sendFile},
              {"map", writeMapped},
              {"private", changePrivately},
              {"after", writeAfterChildren},
              {"little", writeLittleInline},
              {"ends", endInline},
              {"both", endAfterCalls},
              {"nothing", NULL}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (strcmp(words[1], ways[i].name) != 0) continue;
    if (ways[i].run != NULL) ways[i].run();
    return 0;
  }
  CHECK(!"a way that is known");
}
