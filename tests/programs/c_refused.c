// A program that takes rights, descriptors and system calls away from itself, step by step as its
// arguments say, and writes single bytes in between: the size of a file is the number of writes.
//
//   c_refused DIRECTORY STEP...
//
//   open:NAME        opens a new file of DIRECTORY to append to; later steps use it
//   raw-open:NAME    the same by a raw system call, which no preloaded library sees
//   use:NUMBER       later steps use this descriptor, which is open already
//   move:NUMBER      moves the descriptor in use to this number, by a raw system call
//   put:CALLS        writes that many single bytes
//   pwrite:CALLS     the same by pwrite, from offset 0
//   raw-read:NAME    opens an existing file of DIRECTORY to read, by a raw system call
//   get              reads single bytes to the end of the file in use
//   close            closes the descriptor in use
//   fill             opens /dev/null by raw system calls until no descriptor is left
//   open-all         opens files until no descriptor is left, and prints the numbers
//   put-all:CALLS    writes that many single bytes to each of these
//   hard-limit:N     lowers the soft and the hard limit of descriptors
//   soft-limit:N     lowers the soft limit of descriptors
//   user:ID[:CALL]   becomes this user, without other groups, by setuid; or by CALL: setreuid,
//                    seteuid or setresuid
//   thread:CALLS     writes that many single bytes in a second thread, which then stays
//   fork             goes on in a child; this process waits for a signal
//   count:SYS|XFSZ   counts this signal; `report` prints the count
//   filter:SET:ACTION:WAY
//                    SET: create    what makes and changes files: openat with O_CREAT, O_WRONLY or
//                                   O_RDWR, ftruncate, fallocate, linkat, symlinkat, unlinkat, ...
//                         narrow    all but reading, writing, memory, futex and the end
//                         unneeded  what a program that only writes never calls
//                         only=A,B  all but these system calls, by number
//                    ACTION: errno (EPERM), kill (the process), kill-thread, trap
//                    WAY: prctl, seccomp, tsync (from a second thread)
//   strict           SECCOMP_MODE_STRICT
//   no-clock         the processor's counter can no longer be read (x86-64)
//   exec             runs the remaining steps in a new image of this program
//   say:WORD         prints the word
//   wait             waits for a line of input
//   pause            waits for a signal
//   exit:STATUS, raw-exit:STATUS, return:STATUS
//                    ends by _exit, by the system call of one thread, by return from main
//
// Only `open`, `put`, `pwrite`, `get`, `close`, `open-all`, `put-all` and `thread` make calls that
// a tracer records, so the order of the steps decides what comes before the first recorded call.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "check.h"

enum { kMostOpen = 4096, kMostInstructions = 256 };

static const char* directory;
static int in_use = -1;
static int opened[kMostOpen];
static int opened_count;
static volatile sig_atomic_t signals;

// Prints without stdio, whose first call asks for the type of the descriptor: a filter may refuse.
static void say(const char* text) {
  size_t length = strlen(text);
  CHECK(write(STDOUT_FILENO, text, length) == (ssize_t)length);
}

static void sayNumber(const char* what, int number) {
  char line[64];
  snprintf(line, sizeof line, "%s %d\n", what, number);
  say(line);
}

// The C library's own: a tracer records what goes by the name.
static long (*rawCall)(long, ...);

static void findRawCall(void) {
  void* const library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  CHECK(library != NULL);
  rawCall = (long (*)(long, ...))dlsym(library, "syscall");
  CHECK(rawCall != NULL);
}

static int rawOpen(const char* path, int flags) {
  return (int)rawCall(SYS_openat, AT_FDCWD, path, flags, 0666);
}

static void rawClose(int fd) { CHECK(rawCall(SYS_close, fd) == 0); }

static void openNew(const char* name, int raw) {
  PATH(path, directory, name);
  const int flags = O_CREAT | O_WRONLY | O_APPEND;
  in_use = raw ? rawOpen(path, flags) : open(path, flags, 0666);
  CHECK(in_use >= 0);
}

static void rawRead(const char* name) {
  PATH(path, directory, name);
  in_use = rawOpen(path, O_RDONLY);
  CHECK(in_use >= 0);
}

static void moveTo(int number) {
  CHECK(rawCall(SYS_dup3, in_use, number, 0) == number);
  rawClose(in_use);
  in_use = number;
}

static void put(int fd, int calls) {
  while (calls-- > 0) CHECK(write(fd, "x", 1) == 1);
}

static void putAt(int calls) {
  for (int i = 0; i < calls; ++i) CHECK(pwrite(in_use, "x", 1, i) == 1);
}

static void get(void) {
  char byte;
  ssize_t got;
  while ((got = read(in_use, &byte, 1)) == 1) {
  }
  CHECK(got == 0);
}

static void fill(void) {
  while (rawOpen("/dev/null", O_RDONLY) >= 0) {
  }
  CHECK(errno == EMFILE);
}

static void openAll(void) {
  while (opened_count < kMostOpen) {
    char name[32];
    snprintf(name, sizeof name, "open.%d", opened_count);
    PATH(path, directory, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_APPEND, 0666);
    if (fd < 0) {
      CHECK(errno == EMFILE);
      break;
    }
    opened[opened_count++] = fd;
  }
  for (int i = 0; i < opened_count; ++i) sayNumber("descriptor", opened[i]);
}

static void limitDescriptors(rlim_t number, int hard) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = number;
  if (hard) limit.rlim_max = number;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void becomeUser(const char* word) {
  const uid_t id = (uid_t)atoi(word);
  const char* colon = strchr(word, ':');
  const char* call = colon == NULL ? "setuid" : colon + 1;
  CHECK(setgroups(0, NULL) == 0 && setgid((gid_t)id) == 0);
  if (strcmp(call, "setreuid") == 0) {
    CHECK(setreuid(id, id) == 0);
  } else if (strcmp(call, "seteuid") == 0) {
    CHECK(seteuid(id) == 0);
  } else if (strcmp(call, "setresuid") == 0) {
    CHECK(setresuid(id, id, id) == 0);
  } else {
    CHECK(strcmp(call, "setuid") == 0 && setuid(id) == 0);
  }
}

static atomic_int thread_has_written;

static void* putAndStay(void* calls) {
  put(in_use, *(int*)calls);
  atomic_store(&thread_has_written, 1);
  while (1) pause();
  return NULL;
}

static void putInThread(int calls) {
  pthread_t thread;
  atomic_store(&thread_has_written, 0);
  CHECK(pthread_create(&thread, NULL, putAndStay, &calls) == 0);
  while (atomic_load(&thread_has_written) == 0) sched_yield();
}

static void goOnInChild(void) {
  pid_t child = fork();
  CHECK(child >= 0);
  while (child > 0) pause();
}

static void onSignal(int signal) {
  (void)signal;
  ++signals;
}

static void countSignal(const char* name) {
  struct sigaction action = {.sa_handler = onSignal, .sa_flags = SA_NODEFER};
  CHECK(sigaction(strcmp(name, "SYS") == 0 ? SIGSYS : SIGXFSZ, &action, NULL) == 0);
}

static struct sock_filter instructions[kMostInstructions];
static int instruction_count;

static void statement(unsigned short code, unsigned value) {
  CHECK(instruction_count < kMostInstructions);
  instructions[instruction_count++] = (struct sock_filter)BPF_STMT(code, value);
}

// Skips the next `skip` instructions unless the comparison holds.
static void unless(unsigned short comparison, unsigned value, unsigned char skip) {
  CHECK(instruction_count < kMostInstructions);
  instructions[instruction_count++] =
      (struct sock_filter)BPF_JUMP(BPF_JMP | comparison | BPF_K, value, 0, skip);
}

static void loadField(size_t offset) { statement(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset); }
static void answer(unsigned value) { statement(BPF_RET | BPF_K, value); }

static void answerFor(int call, unsigned value) {
  unless(BPF_JEQ, (unsigned)call, 1);
  answer(value);
}

// Little endian: the lower half of an argument comes first.
static void answerForWriting(int call, int flags_argument, unsigned value) {
  unless(BPF_JEQ, (unsigned)call, 4);
  loadField(offsetof(struct seccomp_data, args) + 8 * (size_t)flags_argument);
  unless(BPF_JSET, O_CREAT | O_WRONLY | O_RDWR, 1);
  answer(value);
  answer(SECCOMP_RET_ALLOW);
}

static const int kNarrow[] = {SYS_read,       SYS_write,  SYS_pwrite64,     SYS_close,
                              SYS_exit_group, SYS_exit,   SYS_rt_sigreturn, SYS_brk,
                              SYS_mmap,       SYS_munmap, SYS_futex};

static const int kCreating[] = {SYS_ftruncate, SYS_fallocate, SYS_linkat,    SYS_symlinkat,
                                SYS_unlinkat,  SYS_renameat,  SYS_renameat2,
#ifdef SYS_creat
                                SYS_creat,     SYS_link,      SYS_symlink,   SYS_unlink,
                                SYS_rename,
#endif
#ifdef SYS_openat2
                                SYS_openat2,
#endif
                                SYS_truncate,  SYS_mknodat};

// Neither the loader nor the C library makes these calls for a program with one thread that opens,
// writes and ends; the test looks with strace whether that holds.
static const int kUnneeded[] = {SYS_ftruncate,
                                SYS_truncate,
                                SYS_fallocate,
                                SYS_linkat,
                                SYS_symlinkat,
                                SYS_unlinkat,
                                SYS_renameat,
                                SYS_renameat2,
                                SYS_memfd_create,
                                SYS_rt_sigprocmask,
                                SYS_rt_sigaction,
                                SYS_pwritev,
                                SYS_pwritev2,
                                SYS_writev,
                                SYS_membarrier,
                                SYS_statx,
                                SYS_fcntl,
                                SYS_dup,
                                SYS_dup3,
                                SYS_clone,
                                SYS_pipe2,
                                SYS_socket,
                                SYS_ioctl,
                                SYS_flock,
                                SYS_msync,
                                SYS_madvise,
                                SYS_clock_gettime,
                                SYS_gettid,
                                SYS_tgkill,
                                SYS_kill,
                                SYS_sched_getaffinity,
                                SYS_getdents64,
                                SYS_mkdirat,
                                SYS_fsync,
                                SYS_mknodat};

#define COUNT(array) (int)(sizeof(array) / sizeof(array)[0])

static unsigned actionOf(const char* name) {
  if (strcmp(name, "errno") == 0) return SECCOMP_RET_ERRNO | EPERM;
  if (strcmp(name, "kill") == 0) return SECCOMP_RET_KILL_PROCESS;
  if (strcmp(name, "kill-thread") == 0) return SECCOMP_RET_KILL_THREAD;
  CHECK(strcmp(name, "trap") == 0);
  return SECCOMP_RET_TRAP;
}

static void buildFilter(const char* set, unsigned action) {
  const int is_only = strncmp(set, "only=", 5) == 0;
  instruction_count = 0;
  loadField(offsetof(struct seccomp_data, nr));
  if (strcmp(set, "create") == 0) {
    answerForWriting(SYS_openat, 2, action);
#ifdef SYS_open
    answerForWriting(SYS_open, 1, action);
#endif
    for (int i = 0; i < COUNT(kCreating); ++i) answerFor(kCreating[i], action);
    answer(SECCOMP_RET_ALLOW);
  } else if (strcmp(set, "unneeded") == 0) {
    for (int i = 0; i < COUNT(kUnneeded); ++i) answerFor(kUnneeded[i], action);
    answer(SECCOMP_RET_ALLOW);
  } else if (is_only) {
    for (const char* at = set + 4; at != NULL; at = strchr(at + 1, ',')) {
      answerFor(atoi(at + 1), SECCOMP_RET_ALLOW);
    }
    answer(action);
  } else {
    CHECK(strcmp(set, "narrow") == 0);
    for (int i = 0; i < COUNT(kNarrow); ++i) answerFor(kNarrow[i], SECCOMP_RET_ALLOW);
    answer(action);
  }
}

static atomic_int may_filter;
static atomic_int is_filtered;

// The filter reaches all threads, this one among them: it never returns from here, since the end of
// a thread makes more calls than the filter allows.
static void* filterAllThreads(void* filter) {
  // The other thread is still in pthread_create, which makes calls that the filter refuses.
  while (atomic_load(&may_filter) == 0) {
  }
  CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, filter) == 0);
  atomic_store(&is_filtered, 1);
  static int never = 0;
  while (1) syscall(SYS_futex, &never, 0 /* FUTEX_WAIT */, 0, NULL, NULL, 0);
  return NULL;
}

// The parts of "SET:ACTION:WAY" are cut out of the word.
static void filter(char* word) {
  char* action = strchr(word, ':');
  CHECK(action != NULL);
  *action++ = '\0';
  char* way = strchr(action, ':');
  CHECK(way != NULL);
  *way++ = '\0';
  buildFilter(word, actionOf(action));
  static struct sock_fprog program;
  program = (struct sock_fprog){(unsigned short)instruction_count, instructions};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  if (strcmp(way, "tsync") == 0) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, filterAllThreads, &program) == 0);
    atomic_store(&may_filter, 1);
    // No system call here: it may no longer be allowed.
    while (atomic_load(&is_filtered) == 0) {
    }
  } else if (strcmp(way, "seccomp") == 0) {
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
  } else {
    CHECK(strcmp(way, "prctl") == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
  }
}

static void forbidClock(void) {
#ifdef __x86_64__
  CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0);
#else
  CHECK(!"a processor whose counter can be forbidden");
#endif
}

static void execRest(char** steps) {
  char* words[kMostOpen] = {"c_refused", (char*)directory};
  static char program[4096];
  CHECK(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
  int count = 2;
  while (*steps != NULL && count < kMostOpen - 1) words[count++] = *steps++;
  execv(program, words);
  CHECK(!"exec");
}

static void awaitLine(void) {
  char byte = 0;
  while (byte != '\n' && read(STDIN_FILENO, &byte, 1) == 1) {
  }
}

static int is(const char* step, const char* name, char** argument) {
  size_t length = strlen(name);
  if (strncmp(step, name, length) != 0) return 0;
  if (step[length] != ':' && step[length] != '\0') return 0;
  *argument = (char*)step + length + (step[length] == ':');
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: c_refused DIRECTORY STEP...\n");
    return 2;
  }
  directory = argv[1];
  findRawCall();
  for (int i = 2; i < argc; ++i) {
    char* argument = NULL;
    if (is(argv[i], "open", &argument)) {
      openNew(argument, 0);
    } else if (is(argv[i], "raw-open", &argument)) {
      openNew(argument, 1);
    } else if (is(argv[i], "raw-read", &argument)) {
      rawRead(argument);
    } else if (is(argv[i], "use", &argument)) {
      in_use = atoi(argument);
    } else if (is(argv[i], "move", &argument)) {
      moveTo(atoi(argument));
    } else if (is(argv[i], "put", &argument)) {
      put(in_use, atoi(argument));
    } else if (is(argv[i], "pwrite", &argument)) {
      putAt(atoi(argument));
    } else if (is(argv[i], "get", &argument)) {
      get();
    } else if (is(argv[i], "close", &argument)) {
      CHECK(close(in_use) == 0);
    } else if (is(argv[i], "fill", &argument)) {
      fill();
    } else if (is(argv[i], "open-all", &argument)) {
      openAll();
    } else if (is(argv[i], "put-all", &argument)) {
      for (int at = 0; at < opened_count; ++at) put(opened[at], atoi(argument));
    } else if (is(argv[i], "hard-limit", &argument)) {
      limitDescriptors((rlim_t)atoi(argument), 1);
    } else if (is(argv[i], "soft-limit", &argument)) {
      limitDescriptors((rlim_t)atoi(argument), 0);
    } else if (is(argv[i], "user", &argument)) {
      becomeUser(argument);
    } else if (is(argv[i], "thread", &argument)) {
      putInThread(atoi(argument));
    } else if (is(argv[i], "fork", &argument)) {
      goOnInChild();
    } else if (is(argv[i], "count", &argument)) {
      countSignal(argument);
    } else if (is(argv[i], "report", &argument)) {
      sayNumber("signals", signals);
    } else if (is(argv[i], "filter", &argument)) {
      filter(argument);
    } else if (is(argv[i], "strict", &argument)) {
      CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    } else if (is(argv[i], "no-clock", &argument)) {
      forbidClock();
    } else if (is(argv[i], "exec", &argument)) {
      execRest(argv + i + 1);
    } else if (is(argv[i], "say", &argument)) {
      say(argument);
      say("\n");
    } else if (is(argv[i], "wait", &argument)) {
      awaitLine();
    } else if (is(argv[i], "pause", &argument)) {
      pause();
    } else if (is(argv[i], "exit", &argument)) {
      _exit(atoi(argument));
    } else if (is(argv[i], "raw-exit", &argument)) {
      syscall(SYS_exit, atoi(argument));
    } else if (is(argv[i], "return", &argument)) {
      return atoi(argument);
    } else {
      fprintf(stderr, "c_refused: '%s' is not a step\n", argv[i]);
      return 2;
    }
  }
  return 0;
}
