// Appends single bytes to a file: its size is the number of writes. Also built without a dynamic
// loader, so that nothing can be preloaded into it.
//
//   c_put [WORD...] FILE CALLS    other words are ignored: the name of a script, say
#define _GNU_SOURCE
#include <fcntl.h>

#include "check.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: c_put [WORD...] FILE CALLS\n");
    return 2;
  }
  int fd = open(argv[argc - 2], O_CREAT | O_WRONLY | O_APPEND, 0666);
  CHECK(fd >= 0);
  for (int calls = atoi(argv[argc - 1]); calls > 0; --calls) CHECK(write(fd, "x", 1) == 1);
  return 0;
}
