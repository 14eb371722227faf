// A program that ends in the way it is told to, with I/O before, in handlers and in destructors.
//
//   c_exit DIRECTORY exit|_exit|_Exit|quick_exit|abort|segv|pthread_exit|exec_fails
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#include "check.h"

void earlyWrite(const char* text);

static int fd;

static void writeText(const char* text) {
  CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

static void atExit(void) { writeText("atexit\n"); }
static void atQuickExit(void) { writeText("at_quick_exit\n"); }

static void* outliveMain(void* argument) {
  pthread_join(*(pthread_t*)argument, NULL);
  for (int i = 0; i < 10; ++i) writeText("after main\n");
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) return fprintf(stderr, "usage: c_exit DIRECTORY MODE\n"), 2;
  const char* mode = argv[2];
  PATH(path, argv[1], "exit.txt");
  fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  CHECK(fd >= 0);
  CHECK(atexit(atExit) == 0 && at_quick_exit(atQuickExit) == 0);
  writeText("main\n");
  earlyWrite("main\n");
  if (strcmp(mode, "exit") == 0) exit(3);
  if (strcmp(mode, "_exit") == 0) _exit(4);
  if (strcmp(mode, "_Exit") == 0) _Exit(5);
  if (strcmp(mode, "quick_exit") == 0) quick_exit(6);
  if (strcmp(mode, "abort") == 0) abort();
  if (strcmp(mode, "segv") == 0) raise(SIGSEGV);
  if (strcmp(mode, "exec_fails") == 0) {
    execl("/nonexistent/program", "program", (char*)NULL);
    writeText("exec failed\n");
    return 9;
  }
  if (strcmp(mode, "pthread_exit") == 0) {
    static pthread_t self;
    self = pthread_self();
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, outliveMain, &self) == 0);
    pthread_exit(NULL);
  }
  fprintf(stderr, "c_exit: there is no mode \"%s\"\n", mode);
  return 2;
}
