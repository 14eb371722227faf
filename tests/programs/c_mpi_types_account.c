// c_mpi_types.c says here what it did, and opens its files.
#include "c_mpi_types.h"

char path[4096];
unsigned char data[kMostBytes];
static FILE* account;

void openAccount(void) {
  char name[32];
  snprintf(name, sizeof name, "account.%d", rank);
  PATH(account_path, directory, name);
  CHECK((account = fopen(account_path, "w")) != NULL);
}

void closeAccount(void) { CHECK(fclose(account) == 0); }

long inFile(const struct Case* c, long view_byte) {
  return (long)c->disp + view_byte / c->bytes * (long)c->extent + c->place[view_byte % c->bytes];
}

static void notePieces(const struct Case* c, const char* call, long from, long bytes,
                       const char* mark) {
  fprintf(account, "%s %s %ld %s", call, path, bytes, bytes > 0 && from >= 0 ? mark : "");
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

void note(const struct Case* c, const char* call, long from, long bytes) {
  notePieces(c, call, from, bytes, "");
}

void noteMaybe(const struct Case* c, const char* call, long from, long bytes) {
  notePieces(c, call, from, bytes, "~");
}

unsigned char valueOf(int of_rank, long number) {
  return (unsigned char)(1 + (of_rank * 37 + number * 11) % 255);
}

void fill(long from, int bytes) {
  for (int i = 0; i < bytes; ++i) data[i] = valueOf(rank, from + i);
}

void compare(long from, int bytes) {
  for (int i = 0; i < bytes; ++i) CHECK(data[i] == valueOf(rank, from + i));
}

MPI_File openFile(MPI_Comm communicator, struct Case* c, const char* kind) {
  char name[64];
  snprintf(name, sizeof name, "%s.%s", kind, c->name);
  CHECK(snprintf(path, sizeof path, "%s/%s", directory, name) < (int)sizeof path);
  MPI_File file;
  MPI_Info hints;
  MPI(MPI_Info_create(&hints));
  MPI(MPI_Info_set(hints, "collective_buffering", "true"));
  MPI(MPI_File_open(communicator, path, MPI_MODE_CREATE | MPI_MODE_RDWR, hints, &file));
  MPI(MPI_Info_free(&hints));
  note(c, "MPI_File_open", -1, 0);
  return file;
}

void setView(MPI_File file, struct Case* c) {
  MPI(MPI_File_set_view(file, c->disp, c->etype, c->filetype, "native", MPI_INFO_NULL));
  note(c, "MPI_File_set_view", -1, 0);
}

void closeFile(MPI_File* file, struct Case* c) {
  MPI(MPI_File_close(file));
  note(c, "MPI_File_close", -1, 0);
}

void seek(MPI_File file, const struct Case* c, long etypes, int whence) {
  MPI(MPI_File_seek(file, etypes, whence));
  note(c, "MPI_File_seek", -1, 0);
}
