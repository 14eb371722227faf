// Ranks that wait for a message by asking again and again: with pauses, without, by probes, while
// they compute, and while they write. Two ranks. Rank 0 prints of each of these a line of numbers,
// in nanoseconds of CLOCK_MONOTONIC: before and after its first question, before and after its last
// one, how long it was inside of questions, and how long it had a core from the first to the last.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long nanosecondsOf(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void pauseFor(long milliseconds) {
  const struct timespec time = {0, milliseconds * 1000000};
  nanosleep(&time, NULL);
}

static void nothing(void) {}
static void sleepShortly(void) { pauseFor(1); }
static void compute(void) {
  const long end = nanosecondsOf(CLOCK_THREAD_CPUTIME_ID) + 5000000;
  while (nanosecondsOf(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

static void writeOut(void) {
  FILE* file = fopen("polling.out", "a");
  if (file == NULL) exit(1);
  fputs("asked\n", file);
  fclose(file);
  pauseFor(1);
}

struct Asked {
  long first[2], last[2], inside, used;
};

static struct Asked receive(int probes, void (*between)(void)) {
  int value, found = 0;
  struct Asked asked = {0};
  MPI_Request request;
  if (!probes) MPI_Irecv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
  for (int number = 0;; ++number) {
    asked.last[0] = nanosecondsOf(CLOCK_MONOTONIC);
    if (probes) {
      MPI_Iprobe(1, 7, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    } else {
      MPI_Test(&request, &found, MPI_STATUS_IGNORE);
    }
    asked.last[1] = nanosecondsOf(CLOCK_MONOTONIC);
    asked.inside += asked.last[1] - asked.last[0];
    if (number == 0) {
      asked.first[0] = asked.last[0], asked.first[1] = asked.last[1];
      asked.used = nanosecondsOf(CLOCK_THREAD_CPUTIME_ID);
    }
    if (found) break;
    between();
  }
  asked.used = nanosecondsOf(CLOCK_THREAD_CPUTIME_ID) - asked.used;
  if (probes) MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return asked;
}

int main(int count, char** words) {
  static const struct {
    const char* name;
    int probes;
    void (*between)(void);
  } ways[] = {{"sleeping", 0, sleepShortly},
              {"spinning", 0, nothing},
              {"probing", 1, sleepShortly},
              {"computing", 0, compute},
              {"writing", 0, writeOut}};
  MPI_Init(&count, &words);
  int rank, value = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
      pauseFor(200);
      MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    } else if (rank == 0) {
      const struct Asked asked = receive(ways[i].probes, ways[i].between);
      printf("%s %ld %ld %ld %ld %ld %ld\n", ways[i].name, asked.first[0], asked.first[1],
             asked.last[0], asked.last[1], asked.inside, asked.used);
    }
  }
  MPI_Finalize();
  return 0;
}
