// Eight threads use something for the first time at the same moment. It was made by functions that
// the tracer does not see, as a parent's descriptors are before exec.
//
//   first_use KIND ROUNDS      in a directory of its own
//
// Each round has a file of its own, <KIND>.<round>, or a directory of that name. Prints the
// descriptor of each round with what /proc/self/fd says of it; the output is to be a pipe.
#include <aio.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "check.h"

enum { kThreads = 8, kPage = 4096 };

// The C library's own functions, past those that are preloaded.
static struct {
  int (*open)(const char*, int, ...);
  FILE* (*fopen)(const char*, const char*);
  DIR* (*opendir)(const char*);
  int (*mkdir)(const char*, mode_t);
  int (*ftruncate)(int, off_t);
  ssize_t (*readlink)(const char*, char*, size_t);
} unseen;

static void findUnseen(void) {
  void* const library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  CHECK(library != NULL);
#define FIND(NAME) CHECK((*(void**)& unseen.NAME = dlsym(library, #NAME)) != NULL)
  FIND(open);
  FIND(fopen);
  FIND(opendir);
  FIND(mkdir);
  FIND(ftruncate);
  FIND(readlink);
}

static const char* kind;
static char name[64];
static int round_number;
static int fd;
static FILE* stream;
static DIR* directory;

// Threads meet here by spinning: what they meet by must not order their calls.
static atomic_int arrived;
static void meet(void) {
  const int target = (atomic_fetch_add(&arrived, 1) / kThreads + 1) * kThreads;
  while (atomic_load(&arrived) < target) sched_yield();
}

static void make(void) {
  char inside[96];
  snprintf(name, sizeof name, "%s.%d", kind, round_number);
  fd = -1;
  if (strcmp(kind, "stream") == 0) {
    stream = unseen.fopen(name, "w");
    CHECK(stream != NULL);
    fd = fileno(stream);
  } else if (strcmp(kind, "directory") == 0 || strcmp(kind, "at") == 0) {
    CHECK(unseen.mkdir(name, 0755) == 0);
    for (int t = 0; t < kThreads; ++t) {
      snprintf(inside, sizeof inside, "%s/%d", name, t);
      const int made = unseen.open(inside, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
      CHECK(made >= 0 && close(made) == 0);
    }
    if (*kind == 'd') {
      directory = unseen.opendir(name);
      CHECK(directory != NULL);
      fd = dirfd(directory);
    } else {
      fd = unseen.open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
  } else {
    fd = unseen.open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    CHECK(unseen.ftruncate(fd, kPage) == 0);
  }
  CHECK(fd >= 0);
  char link[32], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t bytes = unseen.readlink(link, path, sizeof path);
  CHECK(bytes > 0);
  printf("%d %.*s\n", fd, (int)bytes, path);
}

static void use(int t) {
  char data[16] = {0};
  if (strcmp(kind, "pread") == 0) {
    CHECK(pread(fd, data, 1, t) == 1);
  } else if (strcmp(kind, "stat") == 0) {
    struct stat about;
    CHECK(fstat(fd, &about) == 0);
  } else if (strcmp(kind, "dup") == 0) {
    const int copy = dup(fd);
    CHECK(copy >= 0 && pread(copy, data, 1, t) == 1 && close(copy) == 0);
  } else if (strcmp(kind, "stream") == 0) {
    CHECK(fprintf(stream, "%d\n", t) == 2);
  } else if (strcmp(kind, "directory") == 0) {
    CHECK(readdir(directory) != NULL);
  } else if (strcmp(kind, "at") == 0) {
    snprintf(data, sizeof data, "%d", t);
    const int opened = openat(fd, data, O_RDONLY);
    CHECK(opened >= 0 && close(opened) == 0);
  } else if (strcmp(kind, "map") == 0) {
    char* const mapped = mmap(NULL, kPage, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(mapped != MAP_FAILED);
    CHECK(*(volatile char*)mapped == 0 && munmap(mapped, kPage) == 0);
  } else if (strcmp(kind, "async") == 0) {
    struct aiocb block = {.aio_fildes = fd, .aio_buf = data, .aio_nbytes = 1, .aio_offset = t};
    CHECK(aio_read(&block) == 0);
    while (aio_error(&block) == EINPROGRESS) sched_yield();
    CHECK(aio_return(&block) == 1);
  } else {
    CHECK(!"a known kind");
  }
}

static void end(void) {
  if (strcmp(kind, "stream") == 0) {
    CHECK(fclose(stream) == 0);
  } else if (strcmp(kind, "directory") == 0) {
    CHECK(closedir(directory) == 0);
  } else {
    CHECK(close(fd) == 0);
  }
}

static int rounds;

static void* work(void* argument) {
  const int t = (int)(long)argument;
  for (int round = 0; round < rounds; ++round) {
    if (t == 0) {
      round_number = round;
      make();
    }
    meet();
    use(t);
    meet();
    if (t == 0) end();
  }
  return NULL;
}

// The whole process begins: its threads' first calls are the first that the tracer sees.
static void* begin(void* argument) {
  const int t = (int)(long)argument;
  char own[96];
  snprintf(own, sizeof own, "%s.%d", name, t);
  meet();
  if (rounds % 2 == 0) printf("%d\n", t);  // a file that the process has from its parent
  const int opened = open(own, O_CREAT | O_WRONLY, 0644);
  CHECK(opened >= 0 && write(opened, "x", 1) == 1 && close(opened) == 0);
  if (rounds % 2 != 0) printf("%d\n", t);
  return NULL;
}

static void together(void* (*body)(void*)) {
  pthread_t threads[kThreads];
  for (long t = 1; t < kThreads; ++t) {
    CHECK(pthread_create(&threads[t], NULL, body, (void*)t) == 0);
  }
  body(NULL);
  for (int t = 1; t < kThreads; ++t) CHECK(pthread_join(threads[t], NULL) == 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  kind = argv[1];
  rounds = atoi(argv[2]);
  findUnseen();
  if (strcmp(kind, "fork") == 0 || strcmp(kind, "silent-fork") == 0) {
    // No handler of fork runs in a child of _Fork: its threads find out what they are.
    pid_t (*const silent)(void) = (pid_t(*)(void))dlsym(RTLD_DEFAULT, "_Fork");
    if (*kind == 's' && silent == NULL) return 77;
    for (int round = 0; round < rounds; ++round) {
      snprintf(name, sizeof name, "%s.%d", kind, round);
      const pid_t child = *kind == 's' ? silent() : fork();
      CHECK(child >= 0);
      if (child == 0) {
        together(begin);
        exit(0);
      }
      int status = 0;
      CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
  } else if (strcmp(kind, "begin") == 0) {
    // In rounds of one process each: the number is that of the round.
    snprintf(name, sizeof name, "%s.%d", kind, rounds);
    together(begin);
  } else {
    together(work);
  }
  return 0;
}
