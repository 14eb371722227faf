// Thirty variables through PnetCDF, each written and read from its own line of code, in several
// turns: how many call stacks the tracer tells apart.
//
//   mpirun -n N c_stacks_pnetcdf FILE
//
// Some are written collectively and some independently; a last turn posts all of them and waits
// once.
#include <mpi.h>
#include <pnetcdf.h>

#include "stacks_variables.h"

#define PNC(call) CHECK((call) == NC_NOERR)

static int rank, ranks, file;
static int variables[kVariables], requests[kVariables];

static void define(void) {
  int dimensions[2];
  PNC(ncmpi_def_dim(file, "turn", kTurns, &dimensions[0]));
  for (int i = 0; i < kVariables; ++i) {
    char name[16];
    snprintf(name, sizeof name, "n%02d", i);
    PNC(ncmpi_def_dim(file, name, (MPI_Offset)elementsOf(i) * ranks, &dimensions[1]));
    snprintf(name, sizeof name, "v%02d", i);
    PNC(ncmpi_def_var(file, name, NC_DOUBLE, 2, dimensions, &variables[i]));
  }
  PNC(ncmpi_enddef(file));
}

struct Part {
  MPI_Offset start[2], count[2];
};

static struct Part part(int variable, int turn) {
  const MPI_Offset elements = elementsOf(variable);
  return (struct Part){{turn, elements * rank}, {1, elements}};
}

#define WRITE_ALL(v)                                                                               \
  {                                                                                                \
    const struct Part at = part(v, turn);                                                          \
    PNC(ncmpi_put_vara_double_all(file, variables[v], at.start, at.count, filled(v, turn, rank))); \
  }
#define WRITE(v)                                                                               \
  {                                                                                            \
    const struct Part at = part(v, turn);                                                      \
    PNC(ncmpi_put_vara_double(file, variables[v], at.start, at.count, filled(v, turn, rank))); \
  }
#define POST(v)                                                                                   \
  {                                                                                               \
    const struct Part at = part(v, turn);                                                         \
    PNC(ncmpi_iput_vara_double(file, variables[v], at.start, at.count, posted[v], &requests[v])); \
  }
#define READ(v)                                                                         \
  {                                                                                     \
    const struct Part at = part(v, turn);                                               \
    PNC(ncmpi_get_vara_double_all(file, variables[v], at.start, at.count, emptied(v))); \
    checkRead(v, turn, rank);                                                           \
  }

OWN_FRAME static void writeFields(int turn){FIELDS(WRITE_ALL)} OWN_FRAME
    static void writeParticles(int turn){PARTICLES(WRITE_ALL)} OWN_FRAME
    static void writeDiagnostics(int turn) {
  PNC(ncmpi_begin_indep_data(file));
  DIAGNOSTICS(WRITE)
  PNC(ncmpi_end_indep_data(file));
}

OWN_FRAME static void writeTurn(int turn) {
  writeFields(turn);
  writeParticles(turn);
  writeDiagnostics(turn);
  KEEP_FRAME;
}

OWN_FRAME static void postTurn(int turn) {
  static double posted[kVariables][kMaxElements];
  int results[kVariables];
  for (int i = 0; i < kVariables; ++i) {
    memcpy(posted[i], filled(i, turn, rank), (size_t)elementsOf(i) * sizeof(double));
  }
  FIELDS(POST)
  PARTICLES(POST)
  DIAGNOSTICS(POST)
  PNC(ncmpi_wait_all(file, kVariables, requests, results));
}

OWN_FRAME static void readTurn(int turn) {
  FIELDS(READ)
  PARTICLES(READ)
  DIAGNOSTICS(READ)
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc == 2);
  PNC(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
  define();
  for (int turn = 0; turn < turnsOfRun() - 1; ++turn) writeTurn(turn);
  postTurn(kTurns - 1);
  PNC(ncmpi_close(file));
  PNC(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_NOWRITE, MPI_INFO_NULL, &file));
  for (int turn = 0; turn < turnsOfRun(); ++turn) readTurn(turn);
  PNC(ncmpi_close(file));
  if (rank == 0) printf("%d variables\n", kVariables);
  MPI_Finalize();
  return 0;
}
