// Ranks that wait for a message by asking again and again: with pauses, without, by probes, while
// they compute, and while they write. Two ranks. Rank 0 prints, for each of these, the part of its
// own waiting time in which it had a core.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double secondsOf(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void pauseFor(long milliseconds) {
  const struct timespec time = {0, milliseconds * 1000000};
  nanosleep(&time, NULL);
}

static void nothing(void) {}
static void sleepShortly(void) { pauseFor(1); }
static void compute(void) {
  const double end = secondsOf(CLOCK_THREAD_CPUTIME_ID) + 0.005;
  while (secondsOf(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

static void writeOut(void) {
  FILE* file = fopen("polling.out", "a");
  if (file == NULL) exit(1);
  fputs("asked\n", file);
  fclose(file);
  pauseFor(1);
}

static void receive(int probes, void (*between)(void)) {
  int value, found = 0;
  MPI_Request request;
  if (!probes) MPI_Irecv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
  for (;;) {
    if (probes) {
      MPI_Iprobe(1, 7, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    } else {
      MPI_Test(&request, &found, MPI_STATUS_IGNORE);
    }
    if (found) break;
    between();
  }
  if (probes) MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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
      const double wall = secondsOf(CLOCK_MONOTONIC), cpu = secondsOf(CLOCK_THREAD_CPUTIME_ID);
      receive(ways[i].probes, ways[i].between);
      printf("%s %.3f\n", ways[i].name,
             (secondsOf(CLOCK_THREAD_CPUTIME_ID) - cpu) / (secondsOf(CLOCK_MONOTONIC) - wall));
    }
  }
  MPI_Finalize();
  return 0;
}
