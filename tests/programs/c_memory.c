// A known number of pwrites of 8 bytes, in a row or at random places, in one file: what a tracer
// adds to the memory of a process that does nothing but I/O.
//
//   c_memory FILE CALLS sequential|random
//
// Prints the largest resident set it ever had, in KiB, as the system says.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>

#include "check.h"

int main(int argc, char** argv) {
  if (argc != 4) return fprintf(stderr, "usage: c_memory FILE CALLS sequential|random\n"), 2;
  int fd = open(argv[1], O_CREAT | O_TRUNC | O_WRONLY, 0644);
  CHECK(fd >= 0);
  const uint64_t calls = strtoull(argv[2], NULL, 10);
  const int is_random = strcmp(argv[3], "random") == 0;
  uint64_t state = 88172645463325252u;
  for (uint64_t call = 0; call < calls; ++call) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;  // Marsaglia's xorshift64
    uint64_t place = is_random ? state % calls : call;
    CHECK(pwrite(fd, &state, 8, (off_t)(place * 8)) == 8);
  }
  CHECK(close(fd) == 0);
  FILE* status = fopen("/proc/self/status", "r");
  CHECK(status != NULL);
  char line[256];
  while (fgets(line, sizeof line, status) != NULL) {
    long kibibytes;
    if (sscanf(line, "VmHWM: %ld", &kibibytes) == 1) printf("%ld\n", kibibytes);
  }
  CHECK(fclose(status) == 0);
  return 0;
}
