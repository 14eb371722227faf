// Workloads in which ranks make, find, extend and rename files.
#include "c_workloads.h"

// Each rank makes files of 4 KiB, and reads those of its neighbour when all are there.
void smallFiles(void) {
  enum { kFiles = 10, kSize = 4096 };
  begin();
  CHECK(mkdir(own("small"), 0755) == 0);
  for (int round = 0; round < rounds; ++round) {
    char name[96];
    for (int i = 0; i < kFiles; ++i) {
      snprintf(name, sizeof name, "%s/f%d", own("small"), round * kFiles + i);
      const int fd = openFile(name, O_WRONLY | O_CREAT | O_EXCL);
      put(fd, 0, kSize);
      closeFile(fd);
      pauseFor(0.5);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kFiles; ++i) {
      snprintf(name, sizeof name, "small.%d/f%d", (rank + 1) % ranks, round * kFiles + i);
      const int fd = openFile(name, O_RDONLY);
      get(fd, 0, kSize);
      closeFile(fd);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// All append records to one log, and each makes sure of its own now and then.
void appendLog(void) {
  const int fd = openFile("log", O_WRONLY | O_CREAT | O_APPEND);
  for (int i = 0; i < 20 * rounds; ++i) {
    pauseFor(0.2);
    CHECK(write(fd, block, 4096) == 4096);
    if (i % 5 == 4) CHECK(fsync(fd) == 0);
  }
  closeFile(fd);
}

// All write small pieces far apart into one file, and read them back with the hole before each.
void holes(void) {
  enum { kPiece = 4096, kStride = 256 * 1024 };
  const int fd = openFile("holes", O_RDWR | O_CREAT);
  for (int round = 0; round < 10 * rounds; ++round) {
    const off_t at = ((off_t)round * ranks + rank) * kStride + kStride - kPiece;
    pauseFor(0.2);
    put(fd, at, kPiece);
    get(fd, at - kPiece, 2 * kPiece);
    if (round % 10 == 9) MPI_Barrier(MPI_COMM_WORLD);
  }
  closeFile(fd);
}

// What restartRead() finds.
void restartFiles(void) {
  char name[64];
  if (rank == 0) {
    const int header = openFile("restart.header", O_WRONLY | O_CREAT);
    put(header, 0, kBlock);
    closeFile(header);
  }
  for (int step = 0; step < rounds; ++step) {
    snprintf(name, sizeof name, "restart.%d.%d", step, rank);
    const int fd = openFile(name, O_WRONLY | O_CREAT);
    for (int i = 0; i < 8; ++i) put(fd, (off_t)i * kBlock, kBlock);
    closeFile(fd);
  }
}

// Rank 0 reads what all have to know, each reads its part of each file and computes.
void restartRead(void) {
  char name[64];
  if (rank == 0) {
    const int header = openFile("restart.header", O_RDONLY);
    get(header, 0, kBlock);
    closeFile(header);
  }
  MPI_Bcast(block, kBlock, MPI_BYTE, 0, MPI_COMM_WORLD);
  for (int step = 0; step < rounds; ++step) {
    snprintf(name, sizeof name, "restart.%d.%d", step, rank);
    const int fd = openFile(name, O_RDONLY);
    for (int i = 0; i < 8; ++i) get(fd, (off_t)i * kBlock, kBlock);
    closeFile(fd);
    pauseFor(1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// Rank 0 writes a file under another name, makes sure of it and renames it. The others are told,
// and read it.
void renameCommit(void) {
  for (int round = 0; round < 4 * rounds; ++round) {
    char name[64];
    snprintf(name, sizeof name, "commit.%d", round);
    int told = round;
    if (rank == 0) {
      pauseFor(2);
      const int fd = openFile("commit.new", O_WRONLY | O_CREAT | O_TRUNC);
      for (int i = 0; i < 4; ++i) put(fd, (off_t)i * kBlock, kBlock);
      CHECK(fsync(fd) == 0);
      closeFile(fd);
      CHECK(rename("commit.new", name) == 0);
      end();
      for (int to = 1; to < ranks; ++to) MPI_Send(&told, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&told, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      const int fd = openFile(name, O_RDONLY);
      for (int i = 0; i < 4; ++i) get(fd, (off_t)i * kBlock, kBlock);
      closeFile(fd);
    }
  }
}

// Ranks that mostly sleep, also while they wait for each other, so that many may share a core.
void sleepers(void) {
  const int fd = openFile(own("sleeper"), O_WRONLY | O_CREAT);
  for (int round = 0; round < 4 * rounds; ++round) {
    pauseFor(3 + (rank + round) % ranks);
    put(fd, (off_t)round * 4096, 4096);
    MPI_Request all;
    int done;
    MPI_Ibarrier(MPI_COMM_WORLD, &all);
    for (;;) {
      MPI_Test(&all, &done, MPI_STATUS_IGNORE);
      if (done) break;
      pauseFor(0.5);
    }
  }
  closeFile(fd);
}
