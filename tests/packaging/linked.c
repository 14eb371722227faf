// Writes and reads a file in each of three threads with OpenMP, and in one without it; with MPI,
// the ranks share another file.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef WITH_MPI
#include <mpi.h>
#endif

enum { kBlocks = 8, kBytes = 512, kThreads = 3 };

static int work(int rank, int thread) {
  char name[64];
  char block[kBytes] = {0};
  snprintf(name, sizeof name, "part.%d.%d", rank, thread);
  const int file = open(name, O_CREAT | O_RDWR | O_TRUNC, 0600);
  int failures = file < 0;
  for (int i = 0; i < kBlocks; ++i) {
    failures += pwrite(file, block, kBytes, (off_t)i * kBytes) != kBytes;
    failures += lseek(file, (off_t)i * kBytes, SEEK_SET) < 0 || read(file, block, kBytes) != kBytes;
  }
  failures += fsync(file) != 0;
  failures += close(file) != 0;
  FILE* const log = fopen(name, "a");
  failures += log == NULL || fwrite(block, 1, kBytes, log) != kBytes || fclose(log) != 0;
  return failures;
}

int main(int argc, char** argv) {
  int rank = 0;
  int failures = 0;
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File shared;
  char block[kBytes] = {0};
  MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &shared);
  MPI_File_write_at_all(shared, (MPI_Offset)rank * kBytes, block, kBytes, MPI_BYTE,
                        MPI_STATUS_IGNORE);
  MPI_File_close(&shared);
#else
  (void)argc;
  (void)argv;
#endif
#ifdef _OPENMP
#pragma omp parallel num_threads(kThreads) reduction(+ : failures)
  failures += work(rank, omp_get_thread_num());
#else
  failures += work(rank, 0);
#endif
#ifdef WITH_MPI
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
#endif
  return failures;
}
