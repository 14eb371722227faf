// Ranks that write in ways which depend on their number and on how many they are, in STEPS steps.
//
//   mpirun -n N c_ranks DIRECTORY MODE STEPS
//
// MODE       offsets of a step
//
//   files     a file of each rank: step * block
//
//   blocks    one file, a part for each rank: (rank * STEPS + step) * block
//
//   late      as blocks, and all ranks but the first work before their first call on a file, from
//             when the first one has written its header
//
//   turns     one file behind a header of the first rank, ranks take turns: (step * N + rank) *
//   block
//
//   constant  the same, with room for 128 ranks in each turn
//
//   total     a part for each rank of a total that stays: (step * N + rank) * (total / N)
//
//   grid      ranks are a square, each row of it lies behind the one before, with a gap
//
//   lists     as turns, and the first rank writes a block for each rank at the end
//
//   two       as turns, and a block of each rank in another file, behind room for 16 of them
//
//   work      as files, and each rank works before the first file and in each step
//
// In each step, a rank passes a message on to the next one, and all meet in a barrier.
#include <fcntl.h>
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"
#include "ranks.h"

enum {
  kBlock = 4096,
  kMostPath = 4096,
  kHeader = 512,
  kMostRanks = 128,
  kRoom = 16,
  kWork = 100000,  // us
  kTotal = 1 << 20
};

static char block[kTotal];

// Holds SIGUSR1 back for waitForFirst.
static void holdSignal(sigset_t* signals) {
  CHECK(sigemptyset(signals) == 0);
  CHECK(sigaddset(signals, SIGUSR1) == 0);
  CHECK(sigprocmask(SIG_BLOCK, signals, NULL) == 0);
}

// By a signal, of which neither a file nor a call of MPI knows.
static void waitForFirst(const sigset_t* signals) {
  int signal_number = 0;
  CHECK(sigwait(signals, &signal_number) == 0);
}

int main(int argc, char** argv) {
  int ranks = 0;
  const int rank = beginRanks(&argc, &argv, &ranks);
  CHECK(argc == 4);
  const char* mode = argv[2];
  const int steps = atoi(argv[3]);
  const int is_total = strcmp(mode, "total") == 0;
  const int size = is_total ? kTotal / ranks : kBlock;
  const int edge = (int)lround(sqrt(ranks));
  char path[kMostPath];
  const int is_work = strcmp(mode, "work") == 0;
  const int is_files = is_work || strcmp(mode, "files") == 0;
  if (is_work) {
    usleep(kWork);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (is_files) {
    snprintf(path, sizeof path, "%s/rank.%03d.dat", argv[1], rank);
  } else {
    snprintf(path, sizeof path, "%s/shared.dat", argv[1]);
  }
  const int is_late = strcmp(mode, "late") == 0;
  int pids[kMostRanks] = {0};
  if (is_late) {
    CHECK(ranks <= kMostRanks);
    sigset_t signals;
    holdSignal(&signals);
    const int pid = getpid();
    MPI_Gather(&pid, 1, MPI_INT, pids, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank != 0) {
      waitForFirst(&signals);
      usleep(kWork);
    }
  }
  // The first rank makes the file: which of several would is a matter of chance.
  if (!is_files && rank != 0) MPI_Barrier(MPI_COMM_WORLD);
  const int fd = open(path, rank == 0 || is_files ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR, 0644);
  CHECK(fd >= 0);
  const int is_two = strcmp(mode, "two") == 0;
  snprintf(path, sizeof path, "%s/other.dat", argv[1]);
  const int other_fd = is_two ? open(path, rank == 0 ? O_RDWR | O_CREAT : O_RDWR, 0644) : -1;
  CHECK(!is_two || other_fd >= 0);
  if (!is_files && rank == 0) {
    CHECK(pwrite(fd, block, kHeader, 0) == kHeader);
    for (int other = 1; is_late && other < ranks; ++other) CHECK(kill(pids[other], SIGUSR1) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (is_two) CHECK(pwrite(other_fd, block, kBlock, (off_t)(kRoom + rank) * kBlock) == kBlock);
  for (int step = 0; step < steps; ++step) {
    off_t slot = (off_t)step * ranks + rank;
    if (is_files) slot = step;
    if (is_late || strcmp(mode, "blocks") == 0) slot = (off_t)rank * steps + step;
    if (strcmp(mode, "constant") == 0) slot = (off_t)step * kMostRanks + rank;
    if (strcmp(mode, "grid") == 0) {
      slot = ((off_t)step * edge + rank / edge) * (edge + 1) + rank % edge;
    }
    CHECK(pwrite(fd, block, (size_t)size, kHeader + slot * size) == size);
    if (is_work) {
      usleep(kWork);
      MPI_Barrier(MPI_COMM_WORLD);
      continue;
    }
    if (rank > 0) MPI_Recv(NULL, 0, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(lseek(fd, step, SEEK_SET) == step);
    if (rank + 1 < ranks) MPI_Send(NULL, 0, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int other = 0; strcmp(mode, "lists") == 0 && rank == 0 && other < ranks; ++other) {
    CHECK(write(fd, block, kBlock) == kBlock);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(close(fd) == 0);
  MPI_Finalize();
  return 0;
}
