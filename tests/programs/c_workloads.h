// What the workloads share: their ranks, how they compute, and the calls that they all make. See
// c_workloads.c.
#pragma once

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kBlock = 64 * 1024 };

extern int rank, ranks, rounds;
extern char block[16 * kBlock];

#define CHECK(condition)                                                                   \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, strerror(errno)); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                        \
    }                                                                                      \
  } while (0)

// Computes for so long, without a processor.
void pauseFor(double milliseconds);

// Each workload calls begin() before its first I/O and end() after its last, as openFile() and
// closeFile() do. Both may be called often, by the main thread.
void begin(void);
void end(void);

int openFile(const char* name, int flags);
void closeFile(int fd);
// At most sizeof block bytes. Any thread may call these, with a block of its own for reads.
void put(int fd, off_t offset, size_t size);
void get(int fd, off_t offset, size_t size);
void getInto(char* into, int fd, off_t offset, size_t size);
// "stem.RANK", in memory that the next call uses again.
const char* own(const char* stem);

// Finds components of the MPI library by opening a file that is not recorded, which takes many
// milliseconds and happens once in a process.
void warmMpiIo(void);

// In c_workloads_files.c.
void smallFiles(void);
void appendLog(void);
void holes(void);
void restartFiles(void);
void restartRead(void);
void renameCommit(void);
void sleepers(void);
// In c_workloads_threads.c.
void readAheadFiles(void);
void readAhead(void);
void overlapped(void);
// In c_workloads_kernels.c.
void outOfCore(void);
void blockSteps(void);
