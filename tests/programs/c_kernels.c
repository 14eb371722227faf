// The I/O of known parallel programs, by the calls that they make it with; the data is made up.
//
//   mpirun -n N c_kernels KERNEL SIZE STEPS [PAUSE_MS [EVENTS]]     where its files go
//
// KERNEL            SIZE is                              STEPS are
//   btio-full       the edge of the cube, in cells of 5 doubles   writes, then as many reads
//   btio-simple     the same                                      the same
//   madbench        KiB of a matrix of a rank                     matrices
//   s3d             the edge of a rank's block of doubles         checkpoints, a file each
//   hacc-shared     particles of a rank                           checkpoints, a file each
//   hacc-files      the same                                      the same
//
// Between two steps it computes for PAUSE_MS (asleep) and has EVENTS exchanges with its neighbours.
// In btio-full, an allreduce follows each read then. tests/programs/fortran_kernels.f90 has
// btio-full and madbench too. btio wants a square number of ranks.
#include <fcntl.h>
#include <math.h>
#include <mpi.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#define MPI(call) CHECK((call) == MPI_SUCCESS)

static int rank, ranks;
static long size, steps;
static double pause_ms;
static long events;

static void compute(void) {
  const struct timespec time = {(time_t)(pause_ms / 1e3), (long)(fmod(pause_ms, 1e3) * 1e6)};
  if (pause_ms > 0) nanosleep(&time, NULL);
  int own = rank, other = 0;
  for (long i = 0; i < events; ++i) {
    MPI(MPI_Sendrecv(&own, 1, MPI_INT, (rank + 1) % ranks, 0, &other, 1, MPI_INT,
                     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
}

static void* room(size_t bytes) {
  char* memory = malloc(bytes + 1);
  CHECK(memory != NULL);
  for (size_t i = 0; i < bytes; ++i) memory[i] = (char)(i * 31 + (size_t)rank);
  return memory;
}

// ---- NAS BT-IO (NPB 3.3): the cube is divided into q * q * q cells, of which each of the q * q
// ranks has q, one in each layer. A point has five doubles. ----

enum { kPoint = 5 * sizeof(double) };
static int q, edge;

// Where the rank's cell of that layer lies, in cells.
static void cellAt(int layer, int at[3]) {
  at[0] = layer;
  at[1] = (rank / q + layer) % q;
  at[2] = (rank % q + layer) % q;
}

static void startCube(void) {
  q = (int)(sqrt((double)ranks) + 0.5);
  CHECK(q * q == ranks);
  edge = (int)size / q;  // of a cell
  CHECK(edge > 0);
}

// One view of all cells; each step is one collective call (the subtype full).
static void btioFull(void) {
  startCube();
  const int whole[3] = {edge * q, edge * q, edge * q}, part[3] = {edge, edge, edge};
  MPI_Datatype point, view, cells[64];
  int lengths[64];
  MPI_Aint places[64];
  CHECK(q <= 64);
  MPI(MPI_Type_contiguous(5, MPI_DOUBLE, &point));
  for (int c = 0; c < q; ++c) {
    int at[3];
    cellAt(c, at);
    for (int i = 0; i < 3; ++i) at[i] *= edge;
    MPI(MPI_Type_create_subarray(3, whole, part, at, MPI_ORDER_C, point, &cells[c]));
    lengths[c] = 1;
    places[c] = 0;
  }
  MPI(MPI_Type_create_struct(q, lengths, places, cells, &view));
  MPI(MPI_Type_commit(&view));
  MPI(MPI_Type_commit(&point));
  const int points = edge * edge * edge * q;
  char* data = room((size_t)points * kPoint);
  MPI_File file;
  MPI(MPI_File_open(MPI_COMM_WORLD, "btio.full.out", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                    &file));
  MPI(MPI_File_set_view(file, 0, point, view, "native", MPI_INFO_NULL));
  for (long step = 0; step < steps; ++step) {
    compute();
    MPI(MPI_File_write_at_all(file, (MPI_Offset)step * points, data, points, point,
                              MPI_STATUS_IGNORE));
  }
  for (long step = 0; step < steps; ++step) {
    MPI(MPI_File_read_at_all(file, (MPI_Offset)step * points, data, points, point,
                             MPI_STATUS_IGNORE));
    int same = 1;
    if (events > 0) MPI(MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
  }
  MPI(MPI_File_close(&file));
  free(data);
}

// A call for each row of a cell (the subtype simple).
static void btioSimple(void) {
  startCube();
  const long row = (long)edge * kPoint, line = (long)edge * q * kPoint;
  char* data = room((size_t)row);
  MPI_File file;
  MPI(MPI_File_open(MPI_COMM_WORLD, "btio.simple.out", MPI_MODE_CREATE | MPI_MODE_RDWR,
                    MPI_INFO_NULL, &file));
  for (int reads = 0; reads < 2; ++reads) {
    for (long step = 0; step < steps; ++step) {
      if (!reads) compute();
      for (int c = 0; c < q; ++c) {
        int at[3];
        cellAt(c, at);
        for (int z = 0; z < edge; ++z) {
          for (int y = 0; y < edge; ++y) {
            const MPI_Offset offset =
                (((MPI_Offset)step * edge * q + at[0] * edge + z) * edge * q + at[1] * edge + y) *
                    line +
                at[2] * row;
            if (reads)
              MPI(MPI_File_read_at(file, offset, data, (int)row, MPI_BYTE, MPI_STATUS_IGNORE));
            else
              MPI(MPI_File_write_at(file, offset, data, (int)row, MPI_BYTE, MPI_STATUS_IGNORE));
          }
        }
      }
    }
    MPI(MPI_Barrier(MPI_COMM_WORLD));
  }
  MPI(MPI_File_close(&file));
  free(data);
}

// ---- MADbench2, I/O mode, one file: S writes the matrices; W reads, changes and writes them, two
// reads ahead; C reads them. Seeks and the individual pointer, as there. ----

static MPI_File matrices;
static char* matrix;

static void moveMatrix(long number, int writes) {
  const MPI_Offset bytes = (MPI_Offset)size * 1024;
  MPI(MPI_File_seek(matrices, ((MPI_Offset)rank * steps + number) * bytes, MPI_SEEK_SET));
  if (writes)
    MPI(MPI_File_write(matrices, matrix, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  else
    MPI(MPI_File_read(matrices, matrix, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void madbench(void) {
  enum { kAhead = 2 };
  CHECK(steps > kAhead);
  matrix = room((size_t)size * 1024);
  MPI(MPI_File_open(MPI_COMM_WORLD, "files.data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                    &matrices));
  for (long i = 0; i < steps; ++i) {
    compute();
    moveMatrix(i, 1);
  }
  MPI(MPI_Barrier(MPI_COMM_WORLD));
  for (long i = 0; i < steps + kAhead; ++i) {
    if (i >= kAhead) moveMatrix(i - kAhead, 1);
    if (i < steps) moveMatrix(i, 0);
    compute();
  }
  MPI(MPI_Barrier(MPI_COMM_WORLD));
  for (long i = 0; i < steps; ++i) {
    moveMatrix(i, 0);
    compute();
  }
  MPI(MPI_Barrier(MPI_COMM_WORLD));
  MPI(MPI_File_close(&matrices));
  free(matrix);
}

// ---- S3D: a file a checkpoint with four arrays of three or four dimensions, block by block. ----

static void s3d(void) {
  int grid[3] = {0, 0, 0}, at[3];
  MPI(MPI_Dims_create(ranks, 3, grid));
  at[0] = rank / (grid[1] * grid[2]);
  at[1] = rank / grid[2] % grid[1];
  at[2] = rank % grid[2];
  const int components[4] = {11, 3, 1, 1};  // species, velocity, pressure, temperature
  const int points = (int)(size * size * size);
  char* data = room((size_t)points * 11 * sizeof(double));
  for (long step = 0; step < steps; ++step) {
    char name[64];
    MPI_File file;
    MPI_Offset begin = 0;
    compute();
    snprintf(name, sizeof name, "s3d.%04ld.field", step);
    MPI(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &file));
    for (int v = 0; v < 4; ++v) {
      int whole[4] = {components[v]}, part[4] = {components[v]}, start[4] = {0};
      MPI_Datatype view;
      for (int i = 0; i < 3; ++i) {
        whole[i + 1] = (int)size * grid[i];
        part[i + 1] = (int)size;
        start[i + 1] = (int)size * at[i];
      }
      MPI(MPI_Type_create_subarray(4, whole, part, start, MPI_ORDER_C, MPI_DOUBLE, &view));
      MPI(MPI_Type_commit(&view));
      MPI(MPI_File_set_view(file, begin, MPI_DOUBLE, view, "native", MPI_INFO_NULL));
      MPI(MPI_File_write_all(file, data, points * components[v], MPI_DOUBLE, MPI_STATUS_IGNORE));
      MPI(MPI_Type_free(&view));
      begin += (MPI_Offset)points * ranks * components[v] * (MPI_Offset)sizeof(double);
    }
    MPI(MPI_File_close(&file));
  }
  free(data);
}

// ---- HACC-IO: nine variables of each particle, one behind the other; each is written, and then
// read back for a check. ----

static const int kVariables[9] = {4, 4, 4, 4, 4, 4, 4, 8, 2};

static void haccShared(void) {
  char* data = room((size_t)size * 8);
  for (long step = 0; step < steps; ++step) {
    char name[64];
    compute();
    snprintf(name, sizeof name, "hacc.%04ld", step);
    for (int reads = 0; reads < 2; ++reads) {
      MPI_File file;
      MPI_Offset begin = 0;
      MPI(MPI_File_open(MPI_COMM_WORLD, name,
                        reads ? MPI_MODE_RDONLY : MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                        &file));
      for (int v = 0; v < 9; ++v) {
        const int bytes = (int)size * kVariables[v];
        const MPI_Offset offset = begin + (MPI_Offset)rank * bytes;
        if (reads)
          MPI(MPI_File_read_at_all(file, offset, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        else
          MPI(MPI_File_write_at_all(file, offset, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        begin += (MPI_Offset)ranks * bytes;
      }
      if (!reads) MPI(MPI_File_sync(file));
      MPI(MPI_File_close(&file));
    }
  }
  free(data);
}

static void haccFiles(void) {
  char* data = room((size_t)size * 8);
  for (long step = 0; step < steps; ++step) {
    char name[64];
    compute();
    snprintf(name, sizeof name, "hacc.%04ld.%04d", step, rank);
    const int fd = open(name, O_CREAT | O_RDWR | O_TRUNC, 0644);
    CHECK(fd >= 0);
    for (int reads = 0; reads < 2; ++reads) {
      off_t begin = 0;
      for (int v = 0; v < 9; ++v) {
        const size_t bytes = (size_t)size * (size_t)kVariables[v];
        const ssize_t moved =
            reads ? pread(fd, data, bytes, begin) : pwrite(fd, data, bytes, begin);
        CHECK(moved == (ssize_t)bytes);
        begin += (off_t)bytes;
      }
      if (!reads) CHECK(fsync(fd) == 0);
      MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    CHECK(close(fd) == 0);
  }
  free(data);
}

static const struct {
  const char* name;
  void (*run)(void);
} kernels[] = {{"btio-full", btioFull},     {"btio-simple", btioSimple},
               {"madbench", madbench},      {"s3d", s3d},
               {"hacc-shared", haccShared}, {"hacc-files", haccFiles}};

int main(int argc, char** argv) {
  MPI(MPI_Init(&argc, &argv));
  CHECK(argc >= 4 && argc <= 6);
  MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  size = atol(argv[2]);
  steps = atol(argv[3]);
  pause_ms = argc > 4 ? atof(argv[4]) : 0;
  events = argc > 5 ? atol(argv[5]) : 0;
  int done = 0;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i) {
    if (strcmp(kernels[i].name, argv[1]) != 0) continue;
    kernels[i].run();
    done = 1;
  }
  CHECK(done);
  MPI(MPI_Finalize());
  return 0;
}
