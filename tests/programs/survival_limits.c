// Limits, privileges and system calls that are taken away while the program runs.
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "survival.h"

static void* putSome(void* name) {
  int fd = newFile(name);
  put(fd, 30000);
  CHECK(close(fd) == 0);
  return NULL;
}

static void inThread(const char* name, size_t stack_bytes) {
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, stack_bytes) == 0);
  CHECK(pthread_create(&thread, &attributes, putSome, (void*)name) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

static void limitTo(int what, rlim_t value) {
  struct rlimit limit;
  CHECK(getrlimit(what, &limit) == 0);
  limit.rlim_cur = value;
  CHECK(setrlimit(what, &limit) == 0);
}

// Each limit that a batch system sets, at the lowest that this program itself can live with.
static void smallLimits(void) {
  int fd = newFile("data");
  limitTo(RLIMIT_NOFILE, 8);
  limitTo(RLIMIT_MEMLOCK, 0);
  limitTo(RLIMIT_NPROC, 0);
  limitTo(RLIMIT_STACK, 64 << 10);
  limitTo(RLIMIT_CORE, 0);
  limitTo(RLIMIT_SIGPENDING, 0);
  limitTo(RLIMIT_MSGQUEUE, 0);
  limitTo(RLIMIT_FSIZE, 1 << 20);
  put(fd, 50000);
}

// A signal of its own when the program itself goes beyond.
static void fileSizeSignal(void) {
  int fd = newFile("data");
  signal(SIGXFSZ, SIG_IGN);
  limitTo(RLIMIT_FSIZE, 20000);
  put(fd, 20000);
  CHECK(write(fd, "x", 1) == -1 && errno == EFBIG);
}

// No memory for what would have to be known of more files.
static void memoryRunsOut(void) {
  static int files[500];
  put(newFile("before"), 100);
  FILE* sizes = fopen("/proc/self/statm", "r");
  long pages = 0;
  CHECK(sizes != NULL && fscanf(sizes, "%ld", &pages) == 1 && fclose(sizes) == 0);
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
  rlim_t before = limit.rlim_cur;
  limitTo(RLIMIT_AS, (rlim_t)(pages * sysconf(_SC_PAGESIZE)));
  for (int i = 0; i < 500; ++i) {
    char name[32];
    snprintf(name, sizeof name, "file.%d", i);
    files[i] = newFile(name);
  }
  for (int i = 0; i < 500; ++i) put(files[i], 20);
  limitTo(RLIMIT_AS, before);
  for (int i = 0; i < 500; ++i) put(files[i], 20);
}

// The smallest stack there is.
static void smallStacks(void) {
  for (int i = 0; i < 5; ++i) {
    char name[32];
    snprintf(name, sizeof name, "small.%d", i);
    inThread(name, (size_t)sysconf(_SC_THREAD_STACK_MIN));
  }
}

// The process can be dumped no longer, so the system shows it less of itself.
static void unprivilegedChildren(void) {
  int before = newFile("before");
  put(before, 10);
  CHECK(chmod(directory, 0777) == 0);
  CHECK(setgid(65534) == 0 && setuid(65534) == 0);
  put(before, 10);
  for (int i = 0; i < 3; ++i) {
    int child = fork();
    if (child == 0) {
      put(newFile("child"), 20000);
      _exit(0);
    }
    waitFor(child, 0);
  }
  put(newFile("after"), 20000);
}

// The tracer's file cannot be reached any more by the name that it was opened by.
static void rootWithoutDescriptors(void) {
  CHECK(chroot(directory) == 0 && chdir("/") == 0);
  directory = "";
  CHECK(syscall(SYS_close_range, 3, ~0U, 0) == 0);
  put(newFile("data"), 20000);
}

static void changedMask(void) {
  umask(0777);
  int child = fork();
  if (child == 0) {
    int fd = newFile("child");
    put(fd, 20000);
    _exit(0);
  }
  waitFor(child, 0);
}

// Calls that containers and batch systems forbid by an error: old profiles of Docker do so with
// statx, and with all that they do not know.
static void forbid(const int* calls, int count) {
  struct sock_filter filter[64];
  int n = 0;
  filter[n++] =
      (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < count; ++i) {
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  }
  filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {(unsigned short)n, filter};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static const int kForbidden[] = {SYS_membarrier, SYS_statx,  SYS_prlimit64, SYS_getrandom,
                                 SYS_fallocate,  SYS_tgkill, SYS_madvise};
enum { kForbiddenCalls = sizeof kForbidden / sizeof kForbidden[0] };

static void forbiddenWhileRunning(void) {
  put(newFile("before"), 100);
  forbid(kForbidden, kForbiddenCalls);
  put(newFile("after"), 30000);
  int child = fork();
  if (child == 0) {
    put(newFile("child"), 30000);
    _exit(0);
  }
  waitFor(child, 0);
  inThread("thread", 1 << 18);
}

static void forbiddenFromTheStart(void) {
  forbid(kForbidden, kForbiddenCalls);
  PATH(path, directory, "data");
  execl(self, self, "put", path, "30000", (char*)NULL);
}

static void statxForbiddenFromTheStart(void) {
  forbid(kForbidden + 1, 1);
  PATH(path, directory, "data");
  execl(self, self, "put", path, "30000", (char*)NULL);
}

// Where this cannot be asked for, going beyond the limit would end the program.
static void limitThatCannotBeAsked(void) {
  limitTo(RLIMIT_FSIZE, 300000);
  forbid(kForbidden + 2, 1);
  int fd = newFile("data");
  PATH(other, directory, "other");
  for (int i = 0; i < 100000; ++i) {
    CHECK(write(fd, "x", 1) == 1);
    CHECK(access(other, F_OK) == -1);
  }
}

const struct Case limit_cases[] = {{"small_limits", smallLimits},
                                   {"file_size_signal", fileSizeSignal},
                                   {"memory_runs_out", memoryRunsOut},
                                   {"small_stacks", smallStacks},
                                   {"unprivileged_children", unprivilegedChildren},
                                   {"root_without_descriptors", rootWithoutDescriptors},
                                   {"mask", changedMask},
                                   {"forbidden_while_running", forbiddenWhileRunning},
                                   {"forbidden_from_the_start", forbiddenFromTheStart},
                                   {"statx_forbidden", statxForbiddenFromTheStart},
                                   {"limit_not_asked", limitThatCannotBeAsked},
                                   {NULL, NULL}};
