// MPI-IO in the layouts that phase models speak of. Each rank writes REPETITIONS requests of
// REQUEST_BYTES (rs), and with `read` reads them back after a barrier.
//
//   mpirun -n N c_mpi_io DIRECTORY MODE REQUEST_BYTES REPETITIONS [read] [gap=N] [account]
//
// MODE is also the name of the file in DIRECTORY (of `nn`: nn.RANK). Offsets are of request i:
//   nn          a file each, i * rs; MPI_File_write_at
//   n1          one file, a block each, (rank * REPETITIONS + i) * rs; MPI_File_write_at
//   strided     one file, in turns, (i * np + rank) * rs; MPI_File_write_at_all
//   view        the same offsets by a view with gaps (resized type) and the individual pointer:
//               MPI_File_set_view, MPI_File_write_all
//   view_at     the same view, offsets given in etypes; MPI_File_write_at_all
//   vector      as view, all requests of a rank in one filetype: MPI_Type_vector
//   subarray    the same as the column of an array that is the rank's: MPI_Type_create_subarray
//   individual  one file, a block each as in n1, by MPI_File_seek and MPI_File_write: one seek
//   before
//               the first write, one before each read
// gap=N puts N MPI_Allreduce between a request and the next. `account` prints what was done, a line
// a call: rank, call, path, offset in the file and size in bytes, number of the MPI event (from 1).
#include <mpi.h>

#include "check.h"

enum { kLine = 512 };

static int rank, ranks;
static long long ticks;
static char* account;
static size_t account_bytes, account_room;
static int with_account;

// A call that counts as an MPI event of the process.
#define EVENT(call) (++ticks, (call))
#define MPI(call) CHECK(EVENT(call) == MPI_SUCCESS)

static void note(const char* call, const char* path, MPI_Offset offset, long long bytes) {
  if (!with_account) return;
  if (account_bytes + kLine + strlen(path) > account_room) {
    account_room = 2 * (account_room + kLine + strlen(path));
    CHECK((account = realloc(account, account_room)) != NULL);
  }
  account_bytes += (size_t)sprintf(account + account_bytes, "%d %s %s %lld %lld %lld\n", rank, call,
                                   path, (long long)offset, bytes, ticks);
}

// All accounts through rank 0: the launcher may mix what ranks print themselves.
static void printAccounts(void) {
  if (rank != 0) {
    unsigned long bytes = account_bytes;
    MPI_Send(&bytes, 1, MPI_UNSIGNED_LONG, 0, 0, MPI_COMM_WORLD);
    MPI_Send(account, (int)bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    return;
  }
  fwrite(account, 1, account_bytes, stdout);
  for (int other = 1; other < ranks; ++other) {
    unsigned long bytes = 0;
    MPI_Recv(&bytes, 1, MPI_UNSIGNED_LONG, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    char* text = malloc(bytes);
    CHECK(text != NULL);
    MPI_Recv(text, (int)bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fwrite(text, 1, bytes, stdout);
    free(text);
  }
}

struct Run {
  const char* mode;
  const char* path;
  MPI_File file;
  long long rs;
  int repetitions;
  int gap;
  MPI_Datatype type;  // of the data, and of the view's etype
  int count;          // rs in it
  char* block;
};

static int is(const struct Run* run, const char* mode) { return strcmp(run->mode, mode) == 0; }

// One with gaps, that the individual pointer passes over.
static int byPointer(const struct Run* run) {
  return is(run, "view") || is(run, "vector") || is(run, "subarray");
}

static int hasView(const struct Run* run) { return byPointer(run) || is(run, "view_at"); }

static MPI_Offset offsetOf(const struct Run* run, int i) {
  if (is(run, "nn")) return i * run->rs;
  if (is(run, "n1") || is(run, "individual")) {
    return ((MPI_Offset)rank * run->repetitions + i) * run->rs;
  }
  return ((MPI_Offset)i * ranks + rank) * run->rs;
}

static void setView(struct Run* run) {
  MPI_Datatype block, filetype;
  MPI_Offset disp = rank * run->rs;
  CHECK(MPI_Type_contiguous(run->count, run->type, &block) == MPI_SUCCESS);
  if (is(run, "vector")) {
    CHECK(MPI_Type_vector(run->repetitions, 1, ranks, block, &filetype) == MPI_SUCCESS);
  } else if (is(run, "subarray")) {
    int sizes[2] = {run->repetitions, ranks}, parts[2] = {run->repetitions, 1};
    int starts[2] = {0, rank};
    CHECK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, block, &filetype) ==
          MPI_SUCCESS);
    disp = 0;
  } else {
    CHECK(MPI_Type_create_resized(block, 0, run->rs * ranks, &filetype) == MPI_SUCCESS);
  }
  CHECK(MPI_Type_commit(&filetype) == MPI_SUCCESS);
  MPI(MPI_File_set_view(run->file, disp, run->type, filetype, "native", MPI_INFO_NULL));
  note("MPI_File_set_view", run->path, rank * run->rs, 0);
  CHECK(MPI_Type_free(&block) == MPI_SUCCESS && MPI_Type_free(&filetype) == MPI_SUCCESS);
}

static void seek(struct Run* run, int i) {
  MPI(MPI_File_seek(run->file, offsetOf(run, i), MPI_SEEK_SET));
  note("MPI_File_seek", run->path, offsetOf(run, i), 0);
}

static void writeOne(struct Run* run, int i) {
  const MPI_Offset at =
      is(run, "view_at") ? (MPI_Offset)i * run->count : offsetOf(run, i) / (run->rs / run->count);
  const MPI_Offset bytes_at = offsetOf(run, i);
  memset(run->block, 'a' + (rank + i) % 26, (size_t)run->rs);
  MPI_Status* none = MPI_STATUS_IGNORE;
  if (is(run, "nn") || is(run, "n1")) {
    MPI(MPI_File_write_at(run->file, bytes_at, run->block, run->count, run->type, none));
    note("MPI_File_write_at", run->path, bytes_at, run->rs);
  } else if (is(run, "strided")) {
    MPI(MPI_File_write_at_all(run->file, bytes_at, run->block, run->count, run->type, none));
    note("MPI_File_write_at_all", run->path, bytes_at, run->rs);
  } else if (is(run, "view_at")) {
    MPI(MPI_File_write_at_all(run->file, at, run->block, run->count, run->type, none));
    note("MPI_File_write_at_all", run->path, bytes_at, run->rs);
  } else if (byPointer(run)) {
    MPI(MPI_File_write_all(run->file, run->block, run->count, run->type, none));
    note("MPI_File_write_all", run->path, bytes_at, run->rs);
  } else {
    MPI(MPI_File_write(run->file, run->block, run->count, run->type, none));
    note("MPI_File_write", run->path, bytes_at, run->rs);
  }
}

static void readOne(struct Run* run, int i) {
  const MPI_Offset bytes_at = offsetOf(run, i);
  memset(run->block, 0, (size_t)run->rs);
  MPI_Status status;
  if (is(run, "nn") || is(run, "n1")) {
    MPI(MPI_File_read_at(run->file, bytes_at, run->block, run->count, run->type, &status));
    note("MPI_File_read_at", run->path, bytes_at, run->rs);
  } else if (is(run, "strided")) {
    MPI(MPI_File_read_at_all(run->file, bytes_at, run->block, run->count, run->type, &status));
    note("MPI_File_read_at_all", run->path, bytes_at, run->rs);
  } else if (is(run, "view_at")) {
    MPI(MPI_File_read_at_all(run->file, (MPI_Offset)i * run->count, run->block, run->count,
                             run->type, &status));
    note("MPI_File_read_at_all", run->path, bytes_at, run->rs);
  } else if (byPointer(run)) {
    if (i == 0) {
      MPI(MPI_File_seek(run->file, 0, MPI_SEEK_SET));
      note("MPI_File_seek", run->path, bytes_at, 0);
    }
    MPI(MPI_File_read_all(run->file, run->block, run->count, run->type, &status));
    note("MPI_File_read_all", run->path, bytes_at, run->rs);
  } else {
    seek(run, i);
    MPI(MPI_File_read(run->file, run->block, run->count, run->type, &status));
    note("MPI_File_read", run->path, bytes_at, run->rs);
  }
  int got = 0;
  CHECK(MPI_Get_count(&status, run->type, &got) == MPI_SUCCESS && got == run->count);
  CHECK(run->block[0] == 'a' + (rank + i) % 26 && run->block[run->rs - 1] == run->block[0]);
}

static void repeat(struct Run* run, void (*one)(struct Run*, int)) {
  for (int i = 0; i < run->repetitions; ++i) {
    one(run, i);
    for (int turn = 0; turn < run->gap; ++turn) {
      int mine = rank, sum = 0;
      MPI(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
      CHECK(sum == ranks * (ranks - 1) / 2);
    }
  }
}

static void barrier(void) { MPI(MPI_Barrier(MPI_COMM_WORLD)); }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* kModes[] = {"nn",      "n1",     "strided",  "view",
                          "view_at", "vector", "subarray", "individual"};
  int known = 0;
  for (size_t i = 0; argc > 2 && i < sizeof kModes / sizeof kModes[0]; ++i) {
    known |= strcmp(argv[2], kModes[i]) == 0;
  }
  struct Run run = {.rs = argc > 4 ? atoll(argv[3]) : 0,
                    .repetitions = argc > 4 ? atoi(argv[4]) : 0,
                    .type = MPI_BYTE};
  if (!known || run.rs <= 0 || run.repetitions <= 0) {
    fprintf(stderr,
            "usage: c_mpi_io DIRECTORY MODE REQUEST_BYTES REPETITIONS [read] [gap=N] [account]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int with_read = 0;
  for (int i = 5; i < argc; ++i) {
    if (strcmp(argv[i], "read") == 0) with_read = 1;
    if (strcmp(argv[i], "account") == 0) with_account = 1;
    sscanf(argv[i], "gap=%d", &run.gap);
  }
  run.mode = argv[2];
  char name[64];
  snprintf(name, sizeof name, is(&run, "nn") ? "%s.%d" : "%s", run.mode, rank);
  PATH(path, argv[1], name);
  run.path = path;
  // An etype of more than a byte, so that offsets in etypes are not offsets in bytes.
  if (hasView(&run) && run.rs % 8 == 0) run.type = MPI_DOUBLE;
  int type_bytes = 0;
  MPI_Type_size(run.type, &type_bytes);
  run.count = (int)(run.rs / type_bytes);
  CHECK((run.block = malloc((size_t)run.rs)) != NULL);

  MPI(MPI_File_open(is(&run, "nn") ? MPI_COMM_SELF : MPI_COMM_WORLD, path,
                    MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &run.file));
  note("MPI_File_open", path, 0, 0);
  if (hasView(&run)) setView(&run);
  if (is(&run, "individual")) seek(&run, 0);
  barrier();
  repeat(&run, writeOne);
  barrier();
  if (with_read) {
    repeat(&run, readOne);
    barrier();
  }
  MPI(MPI_File_close(&run.file));
  note("MPI_File_close", path, 0, 0);
  if (with_account) printAccounts();
  free(account);
  free(run.block);
  MPI_Finalize();
  return 0;
}
