// Pointers that begin at the end of the file or go there, and reads that find it.
#include "c_mpi_types.h"

static MPI_Status status;
static MPI_Request request;

static void moveByAllRanks(void) {
  struct Case plain = {.name = "end", .etype = MPI_BYTE, .etype_bytes = 1, .extent = 1, .bytes = 1};
  struct Case* const c = &plain;
  MPI_File file = openFile(MPI_COMM_WORLD, c, "own");
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
  closeFile(&file, c);
}

// Reads that are short, as (call, whether the call tells what it got, the call).
#define SHORT_READS(READ)                                                               \
  READ(MPI_File_read, 1, MPI_File_read(file, data, size, MPI_BYTE, &status))            \
  READ(MPI_File_read_all, 1, MPI_File_read_all(file, data, size, MPI_BYTE, &status))    \
  READ(MPI_File_iread, 0, WAITED(MPI_File_iread(file, data, size, MPI_BYTE, &request))) \
  READ(MPI_File_read_all_begin, 0,                                                      \
       ENDED(MPI_File_read_all_begin(file, data, size, MPI_BYTE),                       \
             MPI_File_read_all_end(file, data, &status)))
#define SHORT_SHARED_READS(READ)                                                             \
  READ(MPI_File_read_shared, 1, MPI_File_read_shared(file, data, size, MPI_BYTE, &status))   \
  READ(MPI_File_read_ordered, 1, MPI_File_read_ordered(file, data, size, MPI_BYTE, &status)) \
  READ(MPI_File_iread_shared, 0,                                                             \
       WAITED(MPI_File_iread_shared(file, data, size, MPI_BYTE, &request)))                  \
  READ(MPI_File_read_ordered_begin, 0,                                                       \
       ENDED(MPI_File_read_ordered_begin(file, data, size, MPI_BYTE),                        \
             MPI_File_read_ordered_end(file, data, &status)))

static int canBeShort(const char* name) {
  return with_short_nonblocking ||
         (strstr(name, "_iread") == NULL && strstr(name, "_begin") == NULL);
}

static void noteShort(const struct Case* c, const char* name, int tells, long from, long size) {
  int got = 0;
  MPI(MPI_Get_count(&status, MPI_BYTE, &got));
  if (strstr(name, "_shared") != NULL) {
    noteMaybe(c, name, from, tells ? got : size);
  } else {
    note(c, name, from, tells ? got : size);
  }
}

static void makeFile(struct Case* c, MPI_File file) {
  fill(0, 100);
  MPI(MPI_File_write_at(file, 0, data, 100, MPI_BYTE, &status));
  note(c, "MPI_File_write_at", 0, 100);
}

// Each rank has a file of 100 bytes, reads beyond its end, and writes where it is then. Where that
// is libraries see differently.
static void moveBehindShortReads(void) {
  char name[32];
  snprintf(name, sizeof name, "short.%d", rank);
  struct Case plain = {.name = name,
                       .etype = MPI_BYTE,
                       .filetype = MPI_BYTE,
                       .etype_bytes = 1,
                       .extent = 1,
                       .bytes = 1};
  // Four bytes in eight: the file ends with byte 51 of the view.
  struct Case holes = {.name = name,
                       .etype = MPI_BYTE,
                       .etype_bytes = 1,
                       .extent = 8,
                       .place = {0, 1, 2, 3},
                       .bytes = 4};
  MPI_Datatype four;
  MPI(MPI_Type_contiguous(4, MPI_BYTE, &four));
  MPI(MPI_Type_create_resized(four, 0, 8, &holes.filetype));
  MPI(MPI_Type_commit(&holes.filetype));
  MPI(MPI_Type_free(&four));
  const int size = 20;
  MPI_Offset position = 0;
  for (int with_holes = 0; with_holes < 2; ++with_holes) {
    struct Case* const c = with_holes ? &holes : &plain;
    const long begin = with_holes ? 44 : 90;
#define READ(NAME, TELLS, CALL)                                              \
  if (canBeShort(#NAME)) {                                                   \
    MPI_File file = openFile(MPI_COMM_SELF, &plain, #NAME);                  \
    makeFile(&plain, file);                                                  \
    setView(file, c);                                                        \
    seek(file, c, begin, MPI_SEEK_SET);                                      \
    MPI(CALL);                                                               \
    noteShort(c, #NAME, TELLS, begin, size);                                 \
    MPI(MPI_File_get_position(file, &position));                             \
    MPI(MPI_File_write(file, data, 1, MPI_BYTE, &status));                   \
    noteMaybe(c, "MPI_File_write", (long)position, 1);                       \
    seek(file, c, 3, MPI_SEEK_SET);                                          \
    MPI(MPI_File_write(file, data, 2, MPI_BYTE, &status));                   \
    note(c, "MPI_File_write", 3, 2);                                         \
    MPI(MPI_File_read_at(file, begin + 100, data, size, MPI_BYTE, &status)); \
    noteShort(c, "MPI_File_read_at", 1, begin + 100, size);                  \
    MPI(MPI_File_write(file, data, 2, MPI_BYTE, &status));                   \
    note(c, "MPI_File_write", 5, 2);                                         \
    seek(file, c, begin, MPI_SEEK_SET);                                      \
    MPI(CALL);                                                               \
    noteShort(c, #NAME, TELLS, begin, size);                                 \
    setView(file, c);                                                        \
    MPI(MPI_File_write(file, data, 2, MPI_BYTE, &status));                   \
    note(c, "MPI_File_write", 0, 2);                                         \
    closeFile(&file, c);                                                     \
  }
    SHORT_READS(READ)
#undef READ
#define READ(NAME, TELLS, CALL)                                    \
  if (canBeShort(#NAME)) {                                         \
    MPI_File file = openFile(MPI_COMM_SELF, &plain, #NAME);        \
    makeFile(&plain, file);                                        \
    setView(file, c);                                              \
    MPI(MPI_File_seek_shared(file, begin, MPI_SEEK_SET));          \
    note(c, "MPI_File_seek_shared", -1, 0);                        \
    MPI(CALL);                                                     \
    noteShort(c, #NAME, TELLS, begin, size);                       \
    MPI(MPI_File_get_position_shared(file, &position));            \
    MPI(MPI_File_write_ordered(file, data, 1, MPI_BYTE, &status)); \
    noteMaybe(c, "MPI_File_write_ordered", (long)position, 1);     \
    MPI(MPI_File_seek_shared(file, 3, MPI_SEEK_SET));              \
    note(c, "MPI_File_seek_shared", -1, 0);                        \
    MPI(MPI_File_write_ordered(file, data, 2, MPI_BYTE, &status)); \
    note(c, "MPI_File_write_ordered", 3, 2);                       \
    closeFile(&file, c);                                           \
  }
    SHORT_SHARED_READS(READ)
#undef READ
  }
  MPI(MPI_Type_free(&holes.filetype));
}

void moveAtEnd(void) {
  moveByAllRanks();
  moveBehindShortReads();
}
