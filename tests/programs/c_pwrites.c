// pwrites of 8 bytes to one file, at offsets one after the other or at random: for the bytes that
// an event takes in a trace.
//
//   c_pwrites FILE CALLS sequential|random
#include <fcntl.h>
#include <stdint.h>

#include "check.h"

int main(int argc, char** argv) {
  if (argc != 4) return fprintf(stderr, "usage: c_pwrites FILE CALLS sequential|random\n"), 2;
  const long calls = atol(argv[2]);
  const int at_random = strcmp(argv[3], "random") == 0;
  int fd = open(argv[1], O_CREAT | O_TRUNC | O_WRONLY, 0644);
  CHECK(fd >= 0);
  const char data[8] = "01234567";
  uint64_t state = 88172645463325252u;
  for (long call = 0; call < calls; ++call) {
    uint64_t slot = (uint64_t)call;
    if (at_random) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      slot = state % (uint64_t)calls;
    }
    CHECK(pwrite(fd, data, sizeof data, (off_t)(slot * sizeof data)) == (ssize_t)sizeof data);
  }
  CHECK(close(fd) == 0);
  return 0;
}
