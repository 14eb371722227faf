// Ranks that wait for each other by a plan, and tell of it themselves (mpi_account.h).
//
//   mpirun -n N c_order CASE DIRECTORY
//
// N is 4, or 2 for the cases with threads, `threads` and `same_tag`.
#include "c_order.h"

const char* directory;

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {
    {"ring", ring},
    {"producer", producer},
    {"workers", workers},
    {"halo", halo},
    {"persistent", persistent},
    {"probes", probes},
    {"modes", modes},
    {"wildcards", wildcards},
    {"relay", relay},
    {"late_barrier", late_barrier},
    {"allreduce", allreduce},
    {"rooted", rooted},
    {"communicators", communicators},
    {"topologies", topologies},
    {"intercommunicators", intercommunicators},
    {"nonblocking", nonblocking},
    {"windows", windows},
    {"threads", threads},
    {"large", large},
    {"same_tag", same_tag},
};

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  const int threaded =
      argc > 1 && (strcmp(argv[1], "threads") == 0 || strcmp(argv[1], "same_tag") == 0);
  MPI_Init_thread(&argc, &argv, threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  CHECK(!threaded || level == MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 3) return fprintf(stderr, "usage: c_order CASE DIRECTORY\n"), 2;
  directory = argv[2];
  openAccount();
  int found = 0;
  // Twice: what the library, the tracer and the machine do once (memory, pages of programs that are
  // read again) is none of the plan's.
  for (rehearsing = 1; rehearsing >= 0; --rehearsing) {
    beginPlan();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
      if (strcmp(cases[i].name, argv[1]) == 0) ++found, cases[i].run();
    }
  }
  CHECK(found == 2);
  MPI_Finalize();
  writeAccounts(directory);
  return 0;
}
