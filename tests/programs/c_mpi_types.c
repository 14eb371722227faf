// Views of each kind of datatype, and through them each kind of access. The program knows by loops
// of its own where each byte of a view lies, looks for it in the file, and writes what it did to
// DIRECTORY/account.RANK, a line a call: call, path, bytes, pieces of the file as BEGIN+BYTES (or ?
// where MPI alone knows them).
//
//   mpirun -n N c_mpi_types DIRECTORY [without_nonblocking_all] [without_pairs]
#include "c_mpi_types.h"

#include <fcntl.h>

enum { kRequest = 10 };

int rank, ranks;
static const char* directory;
static FILE* account;
static int with_nonblocking_all = 1, with_pairs = 1;  // not every library has them

static long inFile(const struct Case* c, long view_byte) {
  return (long)c->disp + view_byte / c->bytes * (long)c->extent + c->place[view_byte % c->bytes];
}

// ---- the account ----

static char path[4096];

// A request of `bytes` bytes of the view from byte `from` on; `from` < 0: not known.
static void note(const struct Case* c, const char* call, long from, long bytes) {
  fprintf(account, "%s %s %ld ", call, path, bytes);
  if (from < 0) {
    fprintf(account, "?\n");
    return;
  }
  long begin = 0, length = 0;
  const char* comma = "";
  for (long b = from; b < from + bytes; ++b) {
    const long place = inFile(c, b);
    if (length > 0 && place != begin + length) {
      fprintf(account, "%s%ld+%ld", comma, begin, length);
      comma = ",";
      length = 0;
    }
    if (length++ == 0) begin = place;
  }
  if (length > 0) fprintf(account, "%s%ld+%ld", comma, begin, length);
  fprintf(account, "\n");
}

// Never 0, which is what holes have.
static unsigned char valueOf(int of_rank, long number) {
  return (unsigned char)(1 + (of_rank * 37 + number * 11) % 255);
}

// ---- accesses ----

static unsigned char data[kMostBytes];

static void fill(long from, int bytes) {
  for (int i = 0; i < bytes; ++i) data[i] = valueOf(rank, from + i);
}

static void compare(long from, int bytes) {
  for (int i = 0; i < bytes; ++i) CHECK(data[i] == valueOf(rank, from + i));
}

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
#define WAITED(CALL) ((CALL) == MPI_SUCCESS ? MPI_Wait(&request, &status) : MPI_ERR_OTHER)
#define ENDED(BEGIN, END) ((BEGIN) == MPI_SUCCESS ? (END) : MPI_ERR_OTHER)

static void seek(MPI_File file, const struct Case* c, long etypes, int whence) {
  MPI(MPI_File_seek(file, etypes, whence));
  note(c, "MPI_File_seek", -1, 0);
}

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

// What the program wrote is in the file where it says, and nothing else is.
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

static MPI_File openFile(struct Case* c, const char* kind) {
  char name[64];
  snprintf(name, sizeof name, "%s.%s", kind, c->name);
  CHECK(snprintf(path, sizeof path, "%s/%s", directory, name) < (int)sizeof path);
  MPI_File file;
  MPI_Info hints;
  MPI(MPI_Info_create(&hints));
  MPI(MPI_Info_set(hints, "collective_buffering", "true"));
  MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, hints, &file));
  MPI(MPI_Info_free(&hints));
  note(c, "MPI_File_open", -1, 0);
  return file;
}

static void setView(MPI_File file, struct Case* c) {
  MPI(MPI_File_set_view(file, c->disp, c->etype, c->filetype, "native", MPI_INFO_NULL));
  note(c, "MPI_File_set_view", -1, 0);
}

static void closeFile(MPI_File* file, struct Case* c) {
  MPI(MPI_File_close(file));
  note(c, "MPI_File_close", -1, 0);
}

static void moveThrough(struct Case* c) {
  MPI_File file = openFile(c, "own");
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

// By the shared pointer all ranks have the same view. Ordered accesses are where the ranks' order
// puts them; the others the program has to look for.
static void moveShared(struct Case* c) {
  const int bytes = kRequest * c->etype_bytes, all = ranks * bytes;
  MPI_Status status;
  c->disp = 40;
  MPI_File file = openFile(c, "shared");
  setView(file, c);
  long at = (long)rank * bytes;
  fill(at, bytes);
  MPI(MPI_File_write_ordered(file, data, bytes, MPI_BYTE, &status));
  note(c, "MPI_File_write_ordered", at, bytes);
  at += all;
  fill(at, bytes);
  MPI(MPI_File_write_ordered_begin(file, data, bytes, MPI_BYTE));
  MPI(MPI_File_write_ordered_end(file, data, &status));
  note(c, "MPI_File_write_ordered_begin", at, bytes);
  MPI(MPI_Barrier(MPI_COMM_WORLD));
  memset(data, 200 + rank, (size_t)bytes);
  MPI(MPI_File_write_shared(file, data, bytes, MPI_BYTE, &status));
  MPI(MPI_File_sync(file));
  MPI(MPI_Barrier(MPI_COMM_WORLD));
  const int fd = open(path, O_RDONLY);
  CHECK(fd >= 0);
  int turn = 0;
  for (unsigned char found = 0; turn < ranks; ++turn) {
    CHECK(pread(fd, &found, 1, inFile(c, (2L * ranks + turn) * bytes)) == 1);
    if (found == 200 + rank) break;
  }
  CHECK(turn < ranks && close(fd) == 0);
  note(c, "MPI_File_write_shared", (2L * ranks + turn) * bytes, bytes);
  note(c, "MPI_File_sync", -1, 0);
  // All that was shared lies before what is ordered now.
  at = (3L * ranks + rank) * bytes;
  fill(at, bytes);
  MPI(MPI_File_write_ordered(file, data, bytes, MPI_BYTE, &status));
  note(c, "MPI_File_write_ordered", at, bytes);
  MPI(MPI_File_seek_shared(file, (MPI_Offset)ranks * kRequest, MPI_SEEK_SET));
  note(c, "MPI_File_seek_shared", -1, 0);
  at = (1L * ranks + rank) * bytes;
  memset(data, 0, sizeof data);
  MPI(MPI_File_read_ordered(file, data, bytes, MPI_BYTE, &status));
  note(c, "MPI_File_read_ordered", at, bytes);
  compare(at, bytes);
  closeFile(&file, c);
}

// Pointers that begin or go to the end of the file, and a read that finds it.
static void moveAtEnd(void) {
  struct Case plain = {.name = "end", .etype = MPI_BYTE, .etype_bytes = 1, .extent = 1, .bytes = 1};
  struct Case* const c = &plain;
  MPI_File file = openFile(c, "own");
  MPI_Status status;
  fill(0, 100);
  if (rank == 0) {
    MPI(MPI_File_write_at(file, 0, data, 100, MPI_BYTE, &status));
    note(c, "MPI_File_write_at", 0, 100);
  }
  closeFile(&file, c);
  MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_APPEND | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  note(c, "MPI_File_open", -1, 0);
  MPI(MPI_Barrier(MPI_COMM_WORLD));
  memset(data, 7, sizeof data);
  MPI(MPI_File_write(file, data, 10, MPI_BYTE, &status));
  note(c, "MPI_File_write", 100, 10);
  MPI(MPI_File_sync(file));
  note(c, "MPI_File_sync", -1, 0);
  MPI(MPI_Barrier(MPI_COMM_WORLD));
  // Short by five; what stands behind it in the file is not read again.
  seek(file, c, -5, MPI_SEEK_END);
  MPI(MPI_File_read(file, data, 10, MPI_BYTE, &status));
  note(c, "MPI_File_read", 105, 5);
  MPI_Offset position = 0;
  MPI(MPI_File_get_position(file, &position));
  MPI(MPI_Barrier(MPI_COMM_WORLD));
  MPI(MPI_File_write(file, data, 1, MPI_BYTE, &status));
  note(c, "MPI_File_write", (long)position, 1);
  closeFile(&file, c);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc >= 2);
  directory = argv[1];
  for (int i = 2; i < argc; ++i) {
    if (strcmp(argv[i], "without_nonblocking_all") == 0) with_nonblocking_all = 0;
    if (strcmp(argv[i], "without_pairs") == 0) with_pairs = 0;
  }
  char name[32];
  snprintf(name, sizeof name, "account.%d", rank);
  PATH(account_path, directory, name);
  CHECK((account = fopen(account_path, "w")) != NULL);
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
  CHECK(fclose(account) == 0);
  MPI_Finalize();
  return 0;
}
