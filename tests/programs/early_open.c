// A library with a constructor and a destructor of its own: the first opens a file before main,
// and before the tracer's own start-up when the loader takes them in that order; the second writes
// after main. The file's directory comes by the environment, since there are no arguments yet.
#include <fcntl.h>

#include "check.h"

static int early_fd = -1;

// Called by the program, so that the linker keeps the library.
void earlyWrite(const char* text) {
  if (early_fd >= 0) CHECK(write(early_fd, text, strlen(text)) == (ssize_t)strlen(text));
}

__attribute__((constructor)) static void openEarly(void) {
  const char* directory = getenv("EARLY_DIRECTORY");
  if (directory == NULL) return;
  PATH(path, directory, "early.txt");
  early_fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  CHECK(early_fd >= 0);
  earlyWrite("constructor\n");
}

__attribute__((destructor)) static void closeLate(void) {
  earlyWrite("destructor\n");
  if (early_fd >= 0) CHECK(close(early_fd) == 0);
}
