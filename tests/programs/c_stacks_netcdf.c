// Thirty variables through netCDF, each written and read from its own line of code, in several
// turns: how many call stacks the tracer tells apart.
//
//   c_stacks_netcdf FILE netcdf4|classic
//
// netcdf4: by the serial HDF5 below it. classic: by netCDF's own buffer, which is flushed after
// each variable.
#include <netcdf.h>

#include "stacks_variables.h"

#define NC(call) CHECK((call) == NC_NOERR)

static int file;
static int variables[kVariables];

static void define(void) {
  int dimensions[2];
  NC(nc_def_dim(file, "turn", kTurns, &dimensions[0]));
  for (int i = 0; i < kVariables; ++i) {
    char name[16];
    snprintf(name, sizeof name, "n%02d", i);
    NC(nc_def_dim(file, name, (size_t)elementsOf(i), &dimensions[1]));
    snprintf(name, sizeof name, "v%02d", i);
    NC(nc_def_var(file, name, NC_DOUBLE, 2, dimensions, &variables[i]));
  }
  NC(nc_enddef(file));
}

struct Part {
  size_t start[2], count[2];
};

static struct Part part(int variable, int turn) {
  return (struct Part){{(size_t)turn, 0}, {1, (size_t)elementsOf(variable)}};
}

#define WRITE(v)                                                                        \
  {                                                                                     \
    const struct Part at = part(v, turn);                                               \
    NC(nc_put_vara_double(file, variables[v], at.start, at.count, filled(v, turn, 0))); \
    NC(nc_sync(file));                                                                  \
  }
#define READ(v)                                                                 \
  {                                                                             \
    const struct Part at = part(v, turn);                                       \
    NC(nc_get_vara_double(file, variables[v], at.start, at.count, emptied(v))); \
    checkRead(v, turn, 0);                                                      \
  }

OWN_FRAME static void writeFields(int turn){FIELDS(WRITE)} OWN_FRAME
    static void writeParticles(int turn){PARTICLES(WRITE)} OWN_FRAME
    static void writeDiagnostics(int turn){DIAGNOSTICS(WRITE)}

OWN_FRAME static void writeTurn(int turn) {
  writeFields(turn);
  writeParticles(turn);
  writeDiagnostics(turn);
  KEEP_FRAME;
}

OWN_FRAME static void readTurn(int turn) {
  FIELDS(READ)
  PARTICLES(READ)
  DIAGNOSTICS(READ)
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  const int format = strcmp(argv[2], "netcdf4") == 0 ? NC_NETCDF4 : NC_64BIT_OFFSET;
  NC(nc_create(argv[1], NC_CLOBBER | format, &file));
  define();
  for (int turn = 0; turn < turnsOfRun(); ++turn) writeTurn(turn);
  NC(nc_close(file));
  NC(nc_open(argv[1], NC_NOWRITE, &file));
  for (int turn = 0; turn < turnsOfRun(); ++turn) readTurn(turn);
  NC(nc_close(file));
  printf("%d variables\n", kVariables);
  return 0;
}
