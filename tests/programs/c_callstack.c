// Writes from many places, each of which says in its record where it is: "LINE FUNCTION CALLER
// ...", as far as the program knows who called. Built with frame pointers and without.
//
//   c_callstack CASE FILE [PLUGIN PLUGIN]
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
  if (strcmp(wanted, "children") == 0) children(argv);
  if (strcmp(wanted, "killed") == 0) {
    plain();
    kill(getpid(), SIGKILL);
  }
  printf("%d\n", records);
  return 0;
}
