// Workloads that do what known I/O kernels do.
#include "c_workloads.h"

// As MADbench2 in its I/O mode: matrices that do not fit into memory. Each rank writes them as it
// makes them (S), reads, changes and writes them again (W), and reads them once more (C).
void outOfCore(void) {
  enum { kMatrix = 8 * kBlock };
  const int matrices = 6 * rounds;
  const int fd = openFile(own("matrices"), O_RDWR | O_CREAT);
  for (int i = 0; i < matrices; ++i) {
    pauseFor(0.6);
    put(fd, (off_t)i * kMatrix, kMatrix);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < matrices; ++i) {
    get(fd, (off_t)i * kMatrix, kMatrix);
    pauseFor(0.4);
    put(fd, (off_t)i * kMatrix, kMatrix);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < matrices; ++i) {
    double trace = 1, sum;
    get(fd, (off_t)i * kMatrix, kMatrix);
    pauseFor(0.2);
    MPI_Reduce(&trace, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  }
  closeFile(fd);
}

// As BT-IO (full): a cube of doubles, decomposed in three dimensions. Every few time steps all
// append it to one file by collective MPI-IO, and in the end all read it back.
void blockSteps(void) {
  enum { kEdge = 48 };
  int parts[3] = {0, 0, 0}, at[3], no[3] = {0, 0, 0};
  MPI_Comm grid;
  MPI_Dims_create(ranks, 3, parts);
  MPI_Cart_create(MPI_COMM_WORLD, 3, parts, no, 0, &grid);
  MPI_Cart_coords(grid, rank, 3, at);
  int whole[3], piece[3], start[3], values = 1;
  for (int i = 0; i < 3; ++i) {
    whole[i] = kEdge;
    piece[i] = kEdge / parts[i];  // what does not divide is left out
    start[i] = at[i] * piece[i];
    values *= piece[i];
  }
  MPI_Datatype view;
  MPI_Type_create_subarray(3, whole, piece, start, MPI_ORDER_C, MPI_DOUBLE, &view);
  MPI_Type_commit(&view);
  double* cube = malloc((size_t)values * sizeof *cube);
  CHECK(cube != NULL);
  warmMpiIo();
  begin();
  MPI_File file;
  CHECK(MPI_File_open(MPI_COMM_WORLD, "cubes", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS);
  MPI_File_set_view(file, 0, MPI_DOUBLE, view, "native", MPI_INFO_NULL);
  for (int step = 0; step < 5 * rounds; ++step) {
    for (int i = 0; i < values; ++i) cube[i] = step + rank;
    pauseFor(0.6);
    CHECK(MPI_File_write_at_all(file, (MPI_Offset)step * values, cube, values, MPI_DOUBLE,
                                MPI_STATUS_IGNORE) == MPI_SUCCESS);
  }
  for (int step = 0; step < 5 * rounds; ++step) {
    CHECK(MPI_File_read_at_all(file, (MPI_Offset)step * values, cube, values, MPI_DOUBLE,
                               MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(cube[0] == step + rank && cube[values - 1] == step + rank);
  }
  CHECK(MPI_File_close(&file) == MPI_SUCCESS);
  end();
  free(cube);
  MPI_Type_free(&view);
  MPI_Comm_free(&grid);
}
