// Handlers that do not return, that run on a stack of their own, that come one on another.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "survival.h"

static sigjmp_buf back;
static int handler_fd = -1;
static volatile sig_atomic_t handled = 0;

static void often(int microseconds) {
  const struct itimerval every = {{0, microseconds}, {0, microseconds}};
  CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
}

static void once(int microseconds) {
  const struct itimerval then = {{0, 0}, {0, microseconds}};
  CHECK(setitimer(ITIMER_REAL, &then, NULL) == 0);
}

static void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  CHECK(sigaction(signal, &action, NULL) == 0);
}

// An alarm that comes as siglongjmp() gives the signals back finds the stack still in use, and
// takes another frame of it, of up to 12 KiB. On a machine that has no time for the program this
// may happen at each of the 1500 alarms.
static void useOtherStack(void) {
  static char stack[32 << 20];
  const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
  CHECK(sigaltstack(&other, NULL) == 0);
}

// The program's own faults are the program's: it writes, and goes on elsewhere.
static void onFault(int signal) {
  (void)signal;
  put(handler_fd, 1);
  siglongjmp(back, 1);
}

static void faults(void) {
  handler_fd = newFile("handler");
  int fd = newFile("data");
  useOtherStack();
  handle(SIGSEGV, onFault, SA_ONSTACK);
  handle(SIGBUS, onFault, SA_ONSTACK);
  char* page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  for (volatile int i = 0; i < 500; ++i) {
    put(fd, 10);
    if (sigsetjmp(back, 1) == 0) {
      *(volatile char*)page = 1;
      CHECK(!"a fault");
    }
    // A call that the system refuses fails as ever.
    CHECK(write(fd, page, 1) == -1 && errno == EFAULT);
  }
}

// The handler leaves in the middle of whatever it has interrupted. A byte of "returned" stands for
// each call that the program has seen return: the trace has at least these, and no more than "data"
// has bytes.
static void onAlarmLeave(int signal) {
  (void)signal;
  ++handled;
  siglongjmp(back, 1);
}

static void leaveHandlers(int flags) {
  int fd = newFile("data");
  static volatile int returned = 0;
  useOtherStack();
  handle(SIGALRM, onAlarmLeave, flags);
  // Each alarm is asked for where the last one has led to. One that came as siglongjmp() gives the
  // signals back would be handled on top of the handler that leaves, and where the machine has no
  // time for the program, the next one on top of that: until no stack is left.
  (void)sigsetjmp(back, 1);
  once(70);
  while (handled < 1500) {
    CHECK(write(fd, "x", 1) == 1);
    returned = returned + 1;
  }
  once(0);
  signal(SIGALRM, SIG_IGN);
  // Nothing that comes after may be missing.
  int after = newFile("after");
  put(after, 5000);
  PATH(count, directory, "returned");
  CHECK(close(open(count, O_CREAT | O_WRONLY, 0644)) == 0 && truncate(count, returned) == 0);
}
static void leaveOnOwnStack(void) { leaveHandlers(0); }
static void leaveOnOtherStack(void) { leaveHandlers(SA_ONSTACK); }

// One handler interrupts another in the middle of its record.
static void onFirst(int signal) {
  int saved = errno;
  put(handler_fd, 3);
  if (signal == SIGALRM && ++handled % 8 == 0) raise(SIGUSR1);
  put(handler_fd, 2);
  errno = saved;
}

static void nestedHandlers(void) {
  handler_fd = newFile("handler");
  int fd = newFile("data");
  useOtherStack();
  handle(SIGALRM, onFirst, SA_RESTART | SA_ONSTACK);
  handle(SIGUSR1, onFirst, SA_RESTART);
  often(100);
  while (handled < 500) put(fd, 10);
  often(0);
}

const struct Case signal_cases[] = {{"faults", faults},
                                    {"leave_handlers", leaveOnOwnStack},
                                    {"leave_handlers_other_stack", leaveOnOtherStack},
                                    {"nested_handlers", nestedHandlers},
                                    {NULL, NULL}};
