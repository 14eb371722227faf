// Views of each kind of datatype, and through them each kind of access. The program knows by loops
// of its own where each byte of a view lies, looks for it in the file, and writes what it did to
// DIRECTORY/account.RANK, a line a call: call, path, bytes, pieces of the file as BEGIN+BYTES (or ?
// where there are none; with a ~ in front where a reader of the trace may not know them).
//
//   mpirun -n N c_mpi_types DIRECTORY [without_nonblocking_all] [without_pairs]
//                                  [without_short_nonblocking]
#include "c_mpi_types.h"

#include <fcntl.h>

int rank, ranks;
const char* directory;
int with_short_nonblocking = 1;
static int with_nonblocking_all = 1, with_pairs = 1;  // not every library has them

// Each after the last one of all ranks: libraries that read, change and write back what lies
// between the pieces of a request would spoil the neighbour's. The same for reading and writing,
// with `R` read or write and the view's place as C's arguments.
#define ACCESS(FILL, COMPARE, CALL, NAME) \
  do {                                    \
    FILL(at, bytes);                      \
    MPI(CALL);                            \
    note(c, NAME, at, bytes);             \
    COMPARE(at, bytes);                   \
    at += bytes;                          \
    MPI(MPI_Barrier(MPI_COMM_WORLD));     \
  } while (0)
#define NOTHING(from, bytes) memset(data, 0, sizeof data)
#define NONE(from, bytes) (void)0
#define WRITES(CALL, NAME) ACCESS(fill, NONE, CALL, NAME)
#define READS(CALL, NAME) ACCESS(NOTHING, compare, CALL, NAME)

static void moveAll(MPI_File file, const struct Case* c, int writing) {
  MPI_Status status;
  MPI_Request request;
  const int bytes = kRequest * c->etype_bytes;
  const MPI_Offset step = kRequest;
  MPI_Offset next = 0;  // in etypes
  long at = 0;          // the same in bytes
  void* const d = data;
#define EACH(CALL, ARGUMENTS)                                         \
  do {                                                                \
    if (writing) {                                                    \
      WRITES(MPI_File_write##CALL ARGUMENTS, "MPI_File_write" #CALL); \
    } else {                                                          \
      READS(MPI_File_read##CALL ARGUMENTS, "MPI_File_read" #CALL);    \
    }                                                                 \
    next += step;                                                     \
  } while (0)
#define EACH_I(CALL, ARGUMENTS)                                                 \
  do {                                                                          \
    if (writing) {                                                              \
      WRITES(WAITED(MPI_File_iwrite##CALL ARGUMENTS), "MPI_File_iwrite" #CALL); \
    } else {                                                                    \
      READS(WAITED(MPI_File_iread##CALL ARGUMENTS), "MPI_File_iread" #CALL);    \
    }                                                                           \
    next += step;                                                               \
  } while (0)
#define EACH_SPLIT(CALL, ARGUMENTS)                               \
  do {                                                            \
    if (writing) {                                                \
      WRITES(ENDED(MPI_File_write##CALL##_begin ARGUMENTS,        \
                   MPI_File_write##CALL##_end(file, d, &status)), \
             "MPI_File_write" #CALL "_begin");                    \
    } else {                                                      \
      READS(ENDED(MPI_File_read##CALL##_begin ARGUMENTS,          \
                  MPI_File_read##CALL##_end(file, d, &status)),   \
            "MPI_File_read" #CALL "_begin");                      \
    }                                                             \
    next += step;                                                 \
  } while (0)
  if (!writing) seek(file, c, 0, MPI_SEEK_SET);
  EACH(, (file, d, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  EACH(_all, (file, d, bytes, MPI_BYTE, &status));
  EACH_I(, (file, d, bytes, MPI_BYTE, &request));
  if (with_nonblocking_all) EACH_I(_all, (file, d, bytes, MPI_BYTE, &request));
  EACH_SPLIT(_all, (file, d, bytes, MPI_BYTE));
  EACH_I(_at, (file, next, d, bytes, MPI_BYTE, &request));
  EACH(_at, (file, next, d, bytes, MPI_BYTE, &status));
  if (with_nonblocking_all) EACH_I(_at_all, (file, next, d, bytes, MPI_BYTE, &request));
  EACH(_at_all, (file, next, d, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  EACH_SPLIT(_at_all, (file, next, d, bytes, MPI_BYTE));
  // The individual pointer is where it was before the explicit offsets.
  seek(file, c, (with_nonblocking_all ? 5 : 4) * step, MPI_SEEK_CUR);
  EACH(, (file, d, bytes, MPI_BYTE, &status));
}

// The file has what the program wrote where it says, and nothing else.
static void lookIntoFile(const struct Case* c, long bytes) {
  MPI(MPI_Barrier(MPI_COMM_WORLD));
  const int fd = open(path, O_RDONLY);
  CHECK(fd >= 0);
  for (long b = 0; b < bytes; ++b) {
    unsigned char found = 0;
    CHECK(pread(fd, &found, 1, inFile(c, b)) == 1 && found == valueOf(rank, b));
  }
  long all = 0;
  MPI(MPI_Reduce(&bytes, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
  if (rank == 0) {
    static unsigned char part[1 << 16];
    long written = 0, got = 0;
    while ((got = read(fd, part, sizeof part)) > 0) {
      for (long i = 0; i < got; ++i) written += part[i] != 0;
    }
    CHECK(written == all);
  }
  CHECK(close(fd) == 0);
}

static void moveThrough(struct Case* c) {
  MPI_File file = openFile(MPI_COMM_WORLD, c, "own");
  // Beyond the end of the file libraries may write anything into holes.
  MPI(MPI_File_set_size(file, 40000 * (ranks + 1L)));
  note(c, "MPI_File_set_size", -1, 0);
  setView(file, c);
  moveAll(file, c, 1);
  MPI(MPI_File_sync(file));
  note(c, "MPI_File_sync", -1, 0);
  MPI(MPI_Barrier(MPI_COMM_WORLD));
  moveAll(file, c, 0);
  closeFile(&file, c);
  lookIntoFile(c, (with_nonblocking_all ? 11L : 9L) * kRequest * c->etype_bytes);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc >= 2);
  directory = argv[1];
  for (int i = 2; i < argc; ++i) {
    if (strcmp(argv[i], "without_nonblocking_all") == 0) with_nonblocking_all = 0;
    if (strcmp(argv[i], "without_short_nonblocking") == 0) with_short_nonblocking = 0;
    if (strcmp(argv[i], "without_pairs") == 0) with_pairs = 0;
  }
  openAccount();
  for (int i = 0; i < kCases; ++i) {
    static struct Case c;
    makeCase(i, &c);
    if (!with_pairs && c.etype == MPI_SHORT_INT) {
      MPI(MPI_Type_free(&c.filetype));
      continue;
    }
    MPI(MPI_Type_commit(&c.filetype));
    moveThrough(&c);
    if (c.same) moveShared(&c);
    MPI(MPI_Type_free(&c.filetype));
  }
  moveAtEnd();
  closeAccount();
  MPI_Finalize();
  return 0;
}
