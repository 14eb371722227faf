// A data loader of several processes, as in training: all read one file in one order that was drawn
// once, the same in each epoch, and compute after each record; for bench/prefetch.py. Process p
// reads entries p, p + processes, p + 2 * processes ... of the list.
//
//   c_loader FILE [--records N] [--request BYTES] [--processes N] [--epochs N] [--seed N]
//            [--compute-us N] [--busy LOOPS] [--ahead K]
//
// The file has to have at least `records` records of `request` bytes, one after the other. The
// result has the mean time in reads of a process, and one checksum, which does not depend on who
// was first.
#include <signal.h>
#include <sys/wait.h>

#include "timed_reads.h"

static long records = 1024, request = 64 << 10, processes = 4, epochs = 6, seed = 1;

struct Share {
  double read_s;
  uint64_t checksum;
};

static struct Share loaded(const char* name, const off_t* offsets, long process) {
  struct Share share = {0, 0};
  char* const data = malloc((size_t)request);
  const int fd = open(name, O_RDONLY);
  CHECK(data != NULL && fd >= 0);
  const long in_epoch = (records - process + processes - 1) / processes;
  const long all = epochs * in_epoch;
  long advised = 1;
  for (long i = 0; i < all; ++i) {
    for (; ahead > 0 && advised < all && advised <= i + ahead; ++advised) {
      advise(fd, offsets[process + advised % in_epoch * processes], request);
    }
    const double before = secondsNow();
    const off_t offset = offsets[process + i % in_epoch * processes];
    CHECK(pread(fd, data, (size_t)request, offset) == request);
    share.read_s += secondsNow() - before;
    share.checksum = extended(share.checksum, data, (size_t)request);
    compute();
  }
  CHECK(close(fd) == 0);
  free(data);
  return share;
}

static void startProcess(const char* name, const off_t* offsets, long process, int to) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // an interrupted benchmark leaves no process
  const struct Share share = loaded(name, offsets, process);
  CHECK(write(to, &share, sizeof share) == sizeof share);
  exit(0);
}

int main(int argc, char** argv) {
  static const struct NumberOption kOptions[] = {{"--records", &records},
                                                 {"--request", &request},
                                                 {"--processes", &processes},
                                                 {"--epochs", &epochs},
                                                 {"--seed", &seed}};
  CHECK(argc >= 2);
  parseOptions(argv + 2, kOptions, sizeof kOptions / sizeof *kOptions);
  CHECK(processes > 0 && records >= processes && request > 0);
  off_t* const offsets = shuffledBlocks(records, request, seed);
  int results[2];
  CHECK(pipe(results) == 0);
  const double begin = secondsNow();
  for (long i = 0; i < processes; ++i) startProcess(argv[1], offsets, i, results[1]);
  struct Share sum = {0, 0};
  for (long i = 0; i < processes; ++i) {
    int status;
    CHECK(wait(&status) > 0 && status == 0);
  }
  const double wall_s = secondsNow() - begin;
  for (long i = 0; i < processes;
       ++i) {  // written whole: a pipe keeps pieces of this size together
    struct Share share;
    CHECK(read(results[0], &share, sizeof share) == sizeof share);
    sum.read_s += share.read_s / (double)processes;
    sum.checksum += share.checksum;
  }
  report(epochs * records, wall_s, sum.read_s, sum.checksum);
  free(offsets);
  return 0;
}
