// Works on files in the memory of the node, and beside them on one in the working directory:
//
//   c_memory_files NAME MIB
//
// In /dev/shm: NAME by the calls for files, NAME.posix by those for shared memory, and the
// directory NAME.d with a file in it; all of MIB are written and read, and removed. In the working
// directory: `kept`, 4,096 bytes.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      fprintf(stderr, "c_memory_files.c:%d: %s\n", __LINE__, #condition); \
      exit(1);                                                            \
    }                                                                     \
  } while (0)

enum { kMib = 1 << 20 };
static char block[kMib];
static int mib;

static void fill(int fd) {
  CHECK(fd >= 0);
  for (int i = 0; i < mib; ++i) CHECK(write(fd, block, sizeof block) == (ssize_t)sizeof block);
  for (int i = 0; i < mib; ++i) {
    CHECK(pread(fd, block, sizeof block, (off_t)i * kMib) == (ssize_t)sizeof block);
  }
  CHECK(close(fd) == 0);
}

int main(int count, char** words) {
  CHECK(count == 3);
  mib = atoi(words[2]);
  memset(block, 'm', sizeof block);
  char path[256];
  snprintf(path, sizeof path, "/dev/shm/%s", words[1]);
  fill(open(path, O_RDWR | O_CREAT | O_EXCL, 0600));
  CHECK(unlink(path) == 0);

  snprintf(path, sizeof path, "/%s.posix", words[1]);
  fill(shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600));
  CHECK(shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600) == -1);
  CHECK(shm_unlink(path) == 0);
  CHECK(shm_unlink(path) == -1);

  char in_directory[320];
  snprintf(path, sizeof path, "/dev/shm/%s.d", words[1]);
  snprintf(in_directory, sizeof in_directory, "%s/file", path);
  CHECK(mkdir(path, 0700) == 0);
  fill(open(in_directory, O_RDWR | O_CREAT, 0600));
  CHECK(unlink(in_directory) == 0 && rmdir(path) == 0);

  const int kept = open("kept", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  CHECK(kept >= 0 && write(kept, block, 4096) == 4096 && close(kept) == 0);
  return 0;
}
