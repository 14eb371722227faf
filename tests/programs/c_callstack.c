// Writes from many places, each of which says in its record where it is: "LINE FUNCTION CALLER
// ...", as far as the program knows who called. Built with frame pointers and without.
//
//   c_callstack CASE FILE [PLUGIN PLUGIN | FILE PLUGIN]
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { kRecord = 64 };

static int file;
static int records;

#define NOINLINE __attribute__((noinline, noclone))

static NOINLINE off_t fill(char* record, int line, const char* chain) {
  memset(record, 0, kRecord);
  snprintf(record, kRecord, "%d %s", line, chain);
  return (off_t)__atomic_fetch_add(&records, 1, __ATOMIC_RELAXED) * kRecord;
}

// Not the last thing of its function, so that it is a call and no jump.
#define WRITE_HERE(chain)                                         \
  do {                                                            \
    char record[kRecord];                                         \
    const off_t place = fill(record, __LINE__, chain);            \
    if (pwrite(file, record, kRecord, place) != kRecord) exit(3); \
    __asm__ volatile("" : : : "memory");                          \
  } while (0)

NOINLINE void inner(const char* chain) { WRITE_HERE(chain); }

NOINLINE void middle(void) {
  inner("inner middle outer");
  inner("inner middle outer");
  WRITE_HERE("middle outer");
}

NOINLINE void outer(void) {
  middle();
  inner("inner outer");
  __asm__ volatile("" : : : "memory");
}

NOINLINE void plain(void) {
  for (int turn = 0; turn < 20; ++turn) outer();
  __asm__ volatile("" : : : "memory");
}

static void* worker(void* argument) {
  for (int turn = 0; turn < 5; ++turn) inner("inner worker");
  WRITE_HERE("worker");
  return argument;
}

NOINLINE void threads(void) {
  pthread_t made[8];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 * 1024);
  for (int i = 0; i < 8; ++i) pthread_create(&made[i], i % 2 ? &small : NULL, worker, NULL);
  for (int i = 0; i < 8; ++i) pthread_join(made[i], NULL);
}

static void handler(int number) {
  (void)number;
  WRITE_HERE("handler");
}

NOINLINE void interrupted(void) {
  raise(SIGUSR1);
  WRITE_HERE("interrupted");
}

// With the smallest stack that the C library allows for handlers, and on the usual one.
NOINLINE void signals(void) {
  const size_t bytes = 32 * 1024;
  stack_t other = {
      .ss_sp = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
      .ss_size = bytes};
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  sigaltstack(&other, NULL);
  sigaction(SIGUSR1, &action, NULL);
  interrupted();
  interrupted();
  action.sa_flags = 0;
  sigaction(SIGUSR1, &action, NULL);
  interrupted();
}

#if defined(__x86_64__)
// Calls pwrite with a value of the application's choice in the frame pointer's register.
ssize_t write_with(uintptr_t rbp, int to, const void* data, size_t bytes, off_t place);
__asm__(
    ".text\n"
    ".globl write_with\n"
    ".type write_with,@function\n"
    "write_with:\n"
    "  .cfi_startproc\n"
    "  pushq %rbp\n"
    "  movq %rdi, %rbp\n"
    "  movl %esi, %edi\n"
    "  movq %rdx, %rsi\n"
    "  movq %rcx, %rdx\n"
    "  movq %r8, %rcx\n"
    "  call pwrite@PLT\n"
    "  popq %rbp\n"
    "  ret\n"
    "  .cfi_endproc\n"
    ".size write_with,.-write_with\n");

NOINLINE void rubbish(void) {
  // What looks like a frame, with data, a function and a stack address in place of a return
  // address.
  uintptr_t frames[8] __attribute__((aligned(16))) = {0};
  uintptr_t* const fake = frames;
  const uintptr_t here = (uintptr_t)frames;
  const size_t page = 4096;
  char* const hole =
      mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(hole + page, page);
  mprotect(hole, page, PROT_NONE);
  const uintptr_t contents[] = {(uintptr_t) "data", (uintptr_t)&rubbish,     here, 1,
                                ~(uintptr_t)0,      (uintptr_t)(hole + page)};
  const uintptr_t values[] = {0,
                              1,
                              2,
                              8,
                              ~(uintptr_t)0,
                              ~(uintptr_t)15,
                              here | 1,
                              here | 8,
                              here - 65536,
                              here + ((uintptr_t)1 << 30),
                              (uintptr_t)hole,
                              (uintptr_t)(hole + page),
                              (uintptr_t)(hole + 2 * page),
                              (uintptr_t)&rubbish & ~(uintptr_t)15,
                              (uintptr_t) "data" & ~(uintptr_t)15,
                              0x7FFFFFFFF000,
                              0x800000000000};
  char record[kRecord];
  for (int turn = 0; turn < 3; ++turn) {
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
      const off_t place = fill(record, 0, "write_with");
      if (write_with(values[i], file, record, kRecord, place) != kRecord) exit(3);
    }
    for (size_t i = 0; i < sizeof contents / sizeof *contents; ++i) {
      fake[0] = here + 32;
      fake[1] = contents[i];
      fake[4] = here + 48;
      fake[5] = contents[i] + (uintptr_t)turn;
      const off_t place = fill(record, 0, "write_with");
      if (write_with(here, file, record, kRecord, place) != kRecord) exit(3);
    }
  }
}
#else
NOINLINE void rubbish(void) { exit(77); }
#endif

static ucontext_t scheduler, coroutine;

static void step(void) {
  inner("inner step");
  swapcontext(&coroutine, &scheduler);
  inner("inner step");
  WRITE_HERE("step");
}

NOINLINE void runOn(char* stack, size_t bytes) {
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = stack;
  coroutine.uc_stack.ss_size = bytes;
  coroutine.uc_link = &scheduler;
  makecontext(&coroutine, step, 0);
  swapcontext(&scheduler, &coroutine);
  inner("inner runOn");
  swapcontext(&scheduler, &coroutine);
}

// On stacks of the heap, of their own mapping, and inside of the thread's own stack.
NOINLINE void coroutines(void) {
  const size_t bytes = 64 * 1024;
  char local[64 * 1024];
  char* const heap = malloc(bytes);
  for (int turn = 0; turn < 40; ++turn) {
    char* const mapped =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    runOn(mapped, bytes);
    munmap(mapped, bytes);
    runOn(heap, bytes);
    runOn(local, bytes);
  }
  free(heap);
}

static void* coroutinesOfThread(void* argument) {
  coroutines();
  return argument;
}

NOINLINE void recursion(int left) {
  char room[8192];
  __asm__ volatile("" : : "r"(room) : "memory");
  if (left > 0) {
    recursion(left - 1);
  } else {
    WRITE_HERE("recursion recursion recursion recursion");
  }
  __asm__ volatile("" : : "r"(room) : "memory");
}

// Far down in the stack, at once and page by page.
NOINLINE void deep(void) {
  volatile char* const room = alloca(3 * 1024 * 1024);
  room[0] = 1;
  inner("inner deep");
  for (int left = 3; left < 400; left += 7) recursion(left);
  room[1] = 1;
}

typedef void (*Plugin)(int to, off_t place, const char* record);

NOINLINE void usePlugin(const char* path, const char* chain) {
  void* const library = dlopen(path, RTLD_NOW);
  if (library == NULL) exit(4);
  const Plugin call = (Plugin)dlsym(library, "plugin_write");
  char record[kRecord];
  for (int turn = 0; turn < 3; ++turn) {
    const off_t place = fill(record, 0, chain);
    call(file, place, record);
  }
  dlclose(library);
}

static void* load(const char* path) {
  void* const library = dlopen(path, RTLD_NOW);
  if (library == NULL) exit(4);
  return library;
}

// Two plugins again and again, most times where none was before, from 64 places each time.
NOINLINE void reloads(char** words) {
  enum { kPlaces = 64, kTurns = 480 };
  char record[kRecord];
  for (int turn = 0; turn < kTurns; ++turn) {
    void* const library = load(words[turn % 3 == 0 ? 3 : 4]);
    const Plugin call = (Plugin)dlsym(library, "plugin_write_all");
    const off_t place = fill(record, 0, "plugin_write_all");
    records += kPlaces - 1;
    call(file, place, record);
    const uintptr_t page = (uintptr_t)call & ~(uintptr_t)4095;
    dlclose(library);
    if (turn % 8 == 7) continue;
    mmap((void*)page, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  }
}

// Writes below as many calls as `left`, each from one of two places, which `choices` says.
NOINLINE void branch(int left, unsigned choices) {
  if (left == 0) {
    WRITE_HERE("branch");
  } else if (choices & 1) {
    branch(left - 1, choices >> 1);
    __asm__ volatile("# one" : : : "memory");
  } else {
    branch(left - 1, choices >> 1);
    __asm__ volatile("# two" : : : "memory");
  }
}

// From 32,768 stacks.
NOINLINE void many(void) {
  for (unsigned choices = 0; choices < 1U << 15; ++choices) branch(15, choices);
}

// The plugin is used for the first time while no file may grow beyond 4 KiB.
NOINLINE void limited(char** words) {
  void* const library = load(words[3]);
  const Plugin call = (Plugin)dlsym(library, "plugin_write");
  outer();
  struct rlimit usual;
  getrlimit(RLIMIT_FSIZE, &usual);
  const struct rlimit little = {.rlim_cur = 4096, .rlim_max = usual.rlim_max};
  setrlimit(RLIMIT_FSIZE, &little);
  char record[kRecord];
  for (int turn = 0; turn < 3; ++turn) call(file, fill(record, 0, "plugin_a"), record);
  setrlimit(RLIMIT_FSIZE, &usual);
  outer();
}

// The plugin is used for the first time when no file can be opened any more. When it is unloaded,
// it cannot be told what else may be gone.
NOINLINE void sealed(char** words) {
  void* const library = load(words[3]);
  const Plugin call = (Plugin)dlsym(library, "plugin_write");
  outer();
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog filter = {.len = sizeof rules / sizeof *rules, .filter = rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) {
    exit(77);
  }
  char record[kRecord];
  for (int turn = 0; turn < 3; ++turn) call(file, fill(record, 0, "plugin_a"), record);
  dlclose(library);
  outer();
}

// How many bytes this thread has written, by the kernel's account.
static long written(void) {
  char text[512] = {0};
  const int account = open("/proc/thread-self/io", O_RDONLY);
  const ssize_t bytes = read(account, text, sizeof text - 1);
  close(account);
  const char* const found = bytes > 0 ? strstr(text, "wchar: ") : NULL;
  if (found == NULL) exit(77);
  return atol(found + strlen("wchar: "));
}

// The plugin is used for the first time, and the thread writes nothing but what the plugin does.
NOINLINE void unhindered(char** words) {
  void* const library = load(words[3]);
  const Plugin call = (Plugin)dlsym(library, "plugin_write");
  outer();
  char record[kRecord];
  long before = 0, after = 0;
  for (int turn = 0; turn < 2; ++turn) {
    before = after;
    if (turn == 1) call(file, fill(record, 0, "plugin_a"), record);
    after = written();
  }
  if (after - before != kRecord) exit(6);
}

static int is_over;
static void* branches(void* argument) {
  for (unsigned choices = 0; !__atomic_load_n(&is_over, __ATOMIC_RELAXED); ++choices) {
    branch(15, choices);
  }
  return argument;
}

static long switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

// A fork past the C library: its child, which has neither waited long nor had to, writes to
// another file.
NOINLINE void rawChild(void* library, int other, int number) {
  const long before = switches();
  dlclose(library);
  file = other;
  records = 2 * number;
  inner("inner rawChild");
  WRITE_HERE("rawChild");
  _exit(switches() - before < 1000 ? 0 : 9);
}

// While another thread comes from one new place after the other.
NOINLINE void rawForks(char** words) {
  void* const library = load(words[4]);
  const int other = open(words[3], O_RDWR | O_CREAT | O_TRUNC, 0644);
  outer();
  pthread_t made;
  pthread_create(&made, NULL, branches, NULL);
  int failed = 0;
  for (int number = 0; number < 40; ++number) {
    usleep(1000);
    const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) rawChild(library, other, number);
    int status = 0;
    waitpid(child, &status, 0);
    failed += status != 0;
  }
  __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
  pthread_join(made, NULL);
  if (failed > 0) exit(6);
  records = 0;
}

NOINLINE void children(char** words) {
  outer();
  const pid_t child = fork();
  if (child == 0) {
    outer();
    inner("inner children");
    char* const arguments[] = {words[0], "plain", words[3], NULL};
    execv("/proc/self/exe", arguments);
    _exit(5);
  }
  outer();
  waitpid(child, NULL, 0);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  file = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return 2;
  const char* const wanted = argv[1];
  if (strcmp(wanted, "plain") == 0) plain();
  if (strcmp(wanted, "threads") == 0) threads();
  if (strcmp(wanted, "signals") == 0) signals();
  if (strcmp(wanted, "rubbish") == 0) rubbish();
  if (strcmp(wanted, "coroutines") == 0) {
    coroutines();
    pthread_t made;
    pthread_create(&made, NULL, coroutinesOfThread, NULL);
    pthread_join(made, NULL);
  }
  if (strcmp(wanted, "deep") == 0) deep();
  if (strcmp(wanted, "plugins") == 0) {
    for (int turn = 0; turn < 3; ++turn) {
      usePlugin(argv[3], "plugin_a");
      usePlugin(argv[4], "plugin_b");
    }
  }
  if (strcmp(wanted, "reloads") == 0) reloads(argv);
  if (strcmp(wanted, "many") == 0) many();
  if (strcmp(wanted, "limited") == 0) limited(argv);
  if (strcmp(wanted, "sealed") == 0) sealed(argv);
  if (strcmp(wanted, "unhindered") == 0) unhindered(argv);
  if (strcmp(wanted, "raw_forks") == 0) rawForks(argv);
  if (strcmp(wanted, "children") == 0) children(argv);
  if (strcmp(wanted, "killed") == 0) {
    plain();
    kill(getpid(), SIGKILL);
  }
  printf("%d\n", records);
  return 0;
}
