// Asynchronous I/O by each call of aio.h, into and from files of the working directory. It says on
// standard output what it did, one operation a line: FILE read|write OFFSET ASKED RESULT.
//
//   c_aio CASE
//
// queue     writes and reads 64 blocks, up to 8 under way, each waited for by aio_suspend
// poll      the same, each looked for by aio_error alone, again and again
// list      the same by lio_listio, 8 at a time, which waits or does not by turns
// ends      reads across the end of the file, at it, and from a descriptor that is not open for it
// thread    begins 8 writes, and lets another thread ask for their ends
// forgotten asks for the errors of its writes and never for their results
// closed    closes its file before it asks for its writes
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK(condition)                                         \
  do {                                                           \
    if (!(condition)) {                                          \
      fprintf(stderr, "c_aio.c:%d: %s\n", __LINE__, #condition); \
      exit(1);                                                   \
    }                                                            \
  } while (0)

enum { kDepth = 8, kBlocks = 64, kBlock = 24000 };
static char blocks[kDepth][kBlock];
static struct aiocb control[kDepth];
static const char* file;

static void prepare(int slot, int fd, int is_write, off_t offset, size_t bytes) {
  struct aiocb* const block = &control[slot];
  memset(block, 0, sizeof *block);
  block->aio_fildes = fd;
  block->aio_buf = blocks[slot];
  block->aio_nbytes = bytes;
  block->aio_offset = offset;
  block->aio_lio_opcode = is_write ? LIO_WRITE : LIO_READ;
  block->aio_sigevent.sigev_notify = SIGEV_NONE;
  if (is_write) memset(blocks[slot], 'a' + (int)(offset / kBlock % 26), bytes);
}

static void begin(int slot, int fd, int is_write, off_t offset, size_t bytes) {
  prepare(slot, fd, is_write, offset, bytes);
  CHECK((is_write ? aio_write(&control[slot]) : aio_read(&control[slot])) == 0);
}

static long finish(int slot) {
  struct aiocb* const block = &control[slot];
  const int error = aio_error(block);
  const long result = aio_return(block);
  CHECK(error != EINPROGRESS);
  printf("%s %s %lld %zu %ld\n", file, block->aio_lio_opcode == LIO_WRITE ? "write" : "read",
         (long long)block->aio_offset, block->aio_nbytes, error == 0 ? result : -(long)error);
  return result;
}

static void queue(int fd, int is_write, int by_polling) {
  for (int i = 0; i < kBlocks + kDepth; ++i) {
    const int slot = i % kDepth;
    if (i >= kDepth) {
      const struct aiocb* const list[] = {&control[slot]};
      while (aio_error(&control[slot]) == EINPROGRESS) {
        if (!by_polling) CHECK(aio_suspend(list, 1, NULL) == 0 || errno == EINTR);
      }
      CHECK(finish(slot) == kBlock);
      if (!is_write) {
        CHECK(blocks[slot][kBlock - 1] == 'a' + (int)(control[slot].aio_offset / kBlock % 26));
      }
    }
    if (i < kBlocks) begin(slot, fd, is_write, (off_t)i * kBlock, kBlock);
  }
}

static void synchronise(int fd) {
  struct aiocb block;
  memset(&block, 0, sizeof block);
  block.aio_fildes = fd;
  block.aio_sigevent.sigev_notify = SIGEV_NONE;
  CHECK(aio_fsync(O_DSYNC, &block) == 0);
  const struct aiocb* const list[] = {&block};
  while (aio_error(&block) == EINPROGRESS) CHECK(aio_suspend(list, 1, NULL) == 0 || errno == EINTR);
  CHECK(aio_return(&block) == 0);
}

static void list(int fd, int is_write) {
  struct aiocb* whole[kDepth + 1] = {NULL};  // null pointers are passed over
  for (int i = 0; i < kBlocks; i += kDepth) {
    for (int slot = 0; slot < kDepth; ++slot) {
      prepare(slot, fd, is_write, (off_t)(i + slot) * kBlock, kBlock);
      whole[slot + 1] = &control[slot];
    }
    const int waits = i / kDepth % 2;
    CHECK(lio_listio(waits ? LIO_WAIT : LIO_NOWAIT, whole, kDepth + 1, NULL) == 0);
    for (int slot = 0; slot < kDepth; ++slot) {
      while (aio_error(&control[slot]) == EINPROGRESS) usleep(50);
      CHECK(finish(slot) == kBlock);
    }
  }
}

static void waitForAll(int count) {
  for (int slot = 0; slot < count; ++slot) {
    while (aio_error(&control[slot]) == EINPROGRESS) usleep(50);
  }
}

static void* finishAll(void* nothing) {
  waitForAll(kDepth);
  for (int slot = 0; slot < kDepth; ++slot) CHECK(finish(slot) == kBlock);
  return nothing;
}

static void inThread(int fd) {
  for (int slot = 0; slot < kDepth; ++slot) begin(slot, fd, 1, (off_t)slot * kBlock, kBlock);
  pthread_t other;
  CHECK(pthread_create(&other, NULL, finishAll, NULL) == 0 && pthread_join(other, NULL) == 0);
}

static void ends(int fd) {
  begin(0, fd, 1, 0, 1000);
  waitForAll(1);
  CHECK(finish(0) == 1000);
  begin(0, fd, 0, 400, 1000);
  begin(1, fd, 0, 1000, 1000);
  waitForAll(2);
  CHECK(finish(0) == 600);
  CHECK(finish(1) == 0);
  const int writes = open(file, O_WRONLY);
  CHECK(writes >= 0);
  begin(0, writes, 0, 0, 1000);
  waitForAll(1);
  CHECK(finish(0) == -1);
  close(writes);
}

int main(int count, char** words) {
  CHECK(count == 2);
  file = words[1];
  const int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0);
  if (strcmp(file, "queue") == 0 || strcmp(file, "poll") == 0) {
    queue(fd, 1, file[0] == 'p');
    synchronise(fd);
    queue(fd, 0, file[0] == 'p');
  } else if (strcmp(file, "list") == 0) {
    list(fd, 1);
    list(fd, 0);
  } else if (strcmp(file, "ends") == 0) {
    ends(fd);
  } else if (strcmp(file, "thread") == 0) {
    inThread(fd);
  } else if (strcmp(file, "forgotten") == 0) {
    for (int i = 0; i < 4; ++i) {
      begin(0, fd, 1, (off_t)i * kBlock, kBlock);
      waitForAll(1);
      printf("%s write %lld %d %d\n", file, (long long)i * kBlock, kBlock, kBlock);
    }
  } else if (strcmp(file, "closed") == 0) {
    for (int i = 0; i < 4; ++i) begin(i, fd, 1, (off_t)i * kBlock, kBlock);
    // They are done, but the program has not asked.
    struct stat about;
    do {
      CHECK(fstat(fd, &about) == 0);
    } while (about.st_size < 4 * kBlock);
    usleep(10000);
    CHECK(close(fd) == 0);
    waitForAll(4);
    return 0;
  } else {
    CHECK(!"a case");
  }
  CHECK(close(fd) == 0);
  return 0;
}
