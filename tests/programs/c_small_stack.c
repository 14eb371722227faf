// A signal handler on an alternate stack of so many bytes writes to a file, three times. Below the
// stack is memory that may not be touched.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "check.h"

enum { kGuard = 65536 };

static int fd;

static void onSignal(int number) {
  (void)number;
  if (write(fd, "x", 1) != 1) _exit(71);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const size_t bytes = (size_t)atol(argv[1]);
  fd = open("written", O_CREAT | O_WRONLY | O_TRUNC, 0644);
  CHECK(fd >= 0);
  char* const memory =
      mmap(NULL, 2 * kGuard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED && bytes <= kGuard && mprotect(memory, kGuard, PROT_NONE) == 0);
  const stack_t stack = {.ss_sp = memory + kGuard, .ss_size = bytes};
  CHECK(sigaltstack(&stack, NULL) == 0);
  struct sigaction action = {.sa_handler = onSignal, .sa_flags = SA_ONSTACK};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  for (int i = 0; i < 3; ++i) CHECK(raise(SIGUSR1) == 0);
  return 0;
}
