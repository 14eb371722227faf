// A timer's handler writes while the main program is in the middle of writing: a record has to
// survive being interrupted by another record of the same thread.
//
//   c_signal DIRECTORY [CALLS]
//
// How often the timer fires differs from run to run, so the program counts both kinds itself.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>

#include "check.h"

static int main_fd, handler_fd;
static volatile sig_atomic_t handler_calls;

static void onTimer(int signal) {
  (void)signal;
  int saved = errno;
  if (write(handler_fd, "tick\n", 5) == 5) ++handler_calls;
  errno = saved;
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) return fprintf(stderr, "usage: c_signal DIRECTORY [CALLS]\n"), 2;
  PATH(main_path, argv[1], "main.dat");
  PATH(handler_path, argv[1], "handler.dat");
  main_fd = open(main_path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  handler_fd = open(handler_path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  CHECK(main_fd >= 0 && handler_fd >= 0);
  struct sigaction action = {.sa_handler = onTimer, .sa_flags = SA_RESTART};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  struct itimerval every_100_us = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
  CHECK(setitimer(ITIMER_REAL, &every_100_us, NULL) == 0);
  long calls = argc == 3 ? atol(argv[2]) : 300000;
  // A slow timer must not make a test that shows nothing: go on until it has fired.
  long done = 0;
  for (; done < calls || handler_calls < 100; ++done) {
    errno = 12345;
    CHECK(pwrite(main_fd, &done, sizeof done, (done % 1000) * 8) == sizeof done);
    CHECK(errno == 12345);
  }
  CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
  CHECK(close(main_fd) == 0 && close(handler_fd) == 0);
  printf("{\"path\":\"%s\",\"call\":\"pwrite\",\"calls\":%ld,\"bytes\":%ld}\n", main_path, done,
         done * (long)sizeof done);
  printf("{\"path\":\"%s\",\"call\":\"write\",\"calls\":%ld,\"bytes\":%ld}\n", handler_path,
         (long)handler_calls, (long)handler_calls * 5);
  return 0;
}
