// A thread ends the mapping of a file on storage that does not answer; meanwhile another maps and
// unmaps a file elsewhere.
//
//   c_held_unmap SLOW FAST     paths of two files that it makes
//
// Prints "mapped"; at the first character of its input the thread ends the mapping of SLOW, at the
// second the mapping of FAST begins and ends, and "went on" is printed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { kBytes = 4096 };

static char* mapped(const char* path) {
  const int fd = open(path, O_CREAT | O_RDWR, 0644);
  CHECK(fd >= 0 && ftruncate(fd, kBytes) == 0);
  // Files on FUSE without a page cache have no shared mappings.
  char* const bytes = mmap(NULL, kBytes, PROT_READ, MAP_PRIVATE, fd, 0);
  CHECK(bytes != MAP_FAILED && *(volatile char*)bytes == 0);
  return bytes;
}

static void say(const char* words) { CHECK(write(STDOUT_FILENO, words, strlen(words)) > 0); }

static void await(void) {
  char character;
  CHECK(read(STDIN_FILENO, &character, 1) == 1);
}

static void* unmap(void* bytes) {
  CHECK(munmap(bytes, kBytes) == 0);
  return NULL;
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  char* const slow = mapped(argv[1]);
  say("mapped\n");
  await();
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, unmap, slow) == 0);
  await();
  CHECK(munmap(mapped(argv[2]), kBytes) == 0);
  say("went on\n");
  CHECK(pthread_join(thread, NULL) == 0);
  return 0;
}
