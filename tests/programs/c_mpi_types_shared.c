// Accesses by the shared pointer. Ordered ones are where the ranks' order puts them; the others the
// program has to look for.
#include <fcntl.h>

#include "c_mpi_types.h"

// The ranks' requests lie behind one another from byte `begin` of the view on. Finds the one that
// has the content of `data`.
static int turnOf(const struct Case* c, long begin, int bytes) {
  const int fd = open(path, O_RDONLY);
  CHECK(fd >= 0);
  int turn = 0;
  for (; turn < ranks; ++turn) {
    int same = 0;
    for (; same < bytes; ++same) {
      unsigned char found = 0;
      CHECK(pread(fd, &found, 1, inFile(c, begin + (long)turn * bytes + same)) == 1);
      if (found != data[same]) break;
    }
    if (same == bytes) break;
  }
  CHECK(turn < ranks && close(fd) == 0);
  return turn;
}

void moveShared(struct Case* c) {
  const int bytes = kRequest * c->etype_bytes;
  const long all = (long)ranks * bytes;
  MPI_Status status;
  MPI_Request request;
  c->disp = 40;
  MPI_File file = openFile(MPI_COMM_WORLD, c, "shared");
  setView(file, c);
  long at = 0;  // of the requests that the ranks make next
#define ORDERED(FILL, COMPARE, CALL, NAME)         \
  do {                                             \
    FILL(at + (long)rank * bytes, bytes);          \
    MPI(CALL);                                     \
    note(c, NAME, at + (long)rank * bytes, bytes); \
    COMPARE(at + (long)rank * bytes, bytes);       \
    at += all;                                     \
  } while (0)
// The accesses of all ranks lie before the next one. All can see what was written.
#define UNORDERED(CALL, NAME)                                           \
  do {                                                                  \
    MPI(MPI_Barrier(MPI_COMM_WORLD));                                   \
    MPI(CALL);                                                          \
    MPI(MPI_File_sync(file));                                           \
    MPI(MPI_Barrier(MPI_COMM_WORLD));                                   \
    noteMaybe(c, NAME, at + (long)turnOf(c, at, bytes) * bytes, bytes); \
    note(c, "MPI_File_sync", -1, 0);                                    \
    at += all;                                                          \
  } while (0)
#define NOTHING(from, size) memset(data, 0, sizeof data)
#define NONE(from, size) (void)0
  void* const d = data;
  ORDERED(fill, NONE, MPI_File_write_ordered(file, d, bytes, MPI_BYTE, &status),
          "MPI_File_write_ordered");
  ORDERED(fill, NONE,
          ENDED(MPI_File_write_ordered_begin(file, d, bytes, MPI_BYTE),
                MPI_File_write_ordered_end(file, d, &status)),
          "MPI_File_write_ordered_begin");
  memset(data, 200 + rank, (size_t)bytes);
  UNORDERED(MPI_File_write_shared(file, d, bytes, MPI_BYTE, &status), "MPI_File_write_shared");
  memset(data, 100 + rank, (size_t)bytes);
  UNORDERED(WAITED(MPI_File_iwrite_shared(file, d, bytes, MPI_BYTE, &request)),
            "MPI_File_iwrite_shared");
  ORDERED(fill, NONE, MPI_File_write_ordered(file, d, bytes, MPI_BYTE, &status),
          "MPI_File_write_ordered");
  const long end = at;
  MPI(MPI_File_seek_shared(file, (MPI_Offset)ranks * kRequest, MPI_SEEK_SET));
  note(c, "MPI_File_seek_shared", -1, 0);
  at = all;
  ORDERED(NOTHING, compare, MPI_File_read_ordered(file, d, bytes, MPI_BYTE, &status),
          "MPI_File_read_ordered");
  UNORDERED(MPI_File_read_shared(file, d, bytes, MPI_BYTE, &status), "MPI_File_read_shared");
  UNORDERED(WAITED(MPI_File_iread_shared(file, d, bytes, MPI_BYTE, &request)),
            "MPI_File_iread_shared");
  ORDERED(NOTHING, compare,
          ENDED(MPI_File_read_ordered_begin(file, d, bytes, MPI_BYTE),
                MPI_File_read_ordered_end(file, d, &status)),
          "MPI_File_read_ordered_begin");
  CHECK(at == end);
  closeFile(&file, c);
}
