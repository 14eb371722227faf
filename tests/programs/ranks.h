// The begin of a program of ranks.
#pragma once

#include <mpi.h>

// Begins MPI. Returns the own rank, and sets how many there are.
static inline int beginRanks(int* argc, char*** argv, int* ranks) {
  int rank = 0;
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, ranks);
  return rank;
}
