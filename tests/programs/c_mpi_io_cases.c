// MPI-IO off the usual path: an open that fails, a path with "..", shared pointers, a read that
// finds the end of the file, requests of nothing, views of several blocks, more open files than fit
// a small table, I/O in a function that MPI calls, and the calls that only change or ask. Each rank
// writes an account as c_mpi_io prints it to DIRECTORY/account.RANK, with the bytes that were moved
// and offset -1 where MPI alone knows it.
//
//   mpirun -n N c_mpi_io_cases DIRECTORY
#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>

#include "check.h"

enum { kFiles = 300, kPart = 100 };

static int rank, ranks;
static long long ticks;
static const char* directory;
static char account[1 << 20];
static size_t account_bytes;

#define EVENT(call) (++ticks, (call))
#define MPI(call) CHECK(EVENT(call) == MPI_SUCCESS)

static void note(const char* call, const char* path, long long offset, long long bytes) {
  CHECK(account_bytes + 2 * 4096 < sizeof account);
  account_bytes += (size_t)sprintf(account + account_bytes, "%d %s %s %lld %lld %lld\n", rank, call,
                                   path, offset, bytes, ticks);
}

static void barrier(void) { MPI(MPI_Barrier(MPI_COMM_WORLD)); }

static void failToOpen(void) {
  PATH(path, directory, "missing");
  MPI_File file;
  CHECK(EVENT(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file)) !=
        MPI_SUCCESS);
  note("MPI_File_open", path, 0, 0);
}

static void shareAFile(void) {
  PATH(path, directory, "shared");
  PATH(crooked, directory, "turn/../shared");
  PATH(turn, directory, "turn");
  if (rank == 0) CHECK(mkdir(turn, 0777) == 0);
  barrier();
  MPI_File file;
  MPI(MPI_File_open(MPI_COMM_WORLD, crooked, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                    &file));
  note("MPI_File_open", path, 0, 0);
  MPI(MPI_File_set_size(file, (MPI_Offset)kPart * ranks));
  note("MPI_File_set_size", path, 0, 0);
  barrier();
  char part[2 * kPart];
  memset(part, 'a' + rank, sizeof part);
  MPI(MPI_File_write_shared(file, part, kPart, MPI_CHAR, MPI_STATUS_IGNORE));
  note("MPI_File_write_shared", path, -1, kPart);
  MPI(MPI_File_sync(file));
  note("MPI_File_sync", path, 0, 0);
  barrier();
  MPI_Offset size = 0;
  CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == (MPI_Offset)kPart * ranks);
  // The end of the file in the middle of it.
  const MPI_Offset at = size - kPart / 2;
  MPI(MPI_File_read_at(file, at, part, kPart, MPI_CHAR, MPI_STATUS_IGNORE));
  note("MPI_File_read_at", path, at, kPart / 2);
  MPI(MPI_File_read_at(file, size, part, kPart, MPI_CHAR, MPI_STATUS_IGNORE));
  note("MPI_File_read_at", path, size, 0);
  MPI(MPI_File_write_at_all(file, 0, NULL, 0, MPI_CHAR, MPI_STATUS_IGNORE));
  note("MPI_File_write_at_all", path, 0, 0);
  barrier();
  MPI(MPI_File_close(&file));
  note("MPI_File_close", path, 0, 0);
  barrier();
  if (rank == 0) {
    MPI(MPI_File_delete(path, MPI_INFO_NULL));
    note("MPI_File_delete", path, 0, 0);
  }
}

static void writeThroughView(MPI_File file, const char* path, MPI_Offset disp, MPI_Datatype type,
                             long long view_at, const MPI_Offset* offsets, int requests) {
  CHECK(MPI_Type_commit(&type) == MPI_SUCCESS);
  MPI(MPI_File_set_view(file, disp, MPI_BYTE, type, "native", MPI_INFO_NULL));
  note("MPI_File_set_view", path, view_at, 0);
  for (int i = 0; i < requests; ++i) {
    MPI(MPI_File_write(file, "xxxx", 4, MPI_CHAR, MPI_STATUS_IGNORE));
    note("MPI_File_write", path, offsets[i], 4);
  }
  CHECK(MPI_Type_free(&type) == MPI_SUCCESS);
}

// Views of more than one block.
static void useViews(void) {
  char name[64];
  snprintf(name, sizeof name, "views.%d", rank);
  PATH(path, directory, name);
  MPI_File file;
  MPI(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
  note("MPI_File_open", path, 0, 0);
  MPI_Datatype strided, moved, irregular;
  // Blocks of 4 at 0, 10, 20, the next type 50 behind, all 100 behind the begin.
  CHECK(MPI_Type_create_hvector(3, 4, 10, MPI_CHAR, &strided) == MPI_SUCCESS);
  CHECK(MPI_Type_create_resized(strided, 0, 50, &moved) == MPI_SUCCESS);
  const MPI_Offset regular[] = {100, 110, 120, 150};
  writeThroughView(file, path, 100, moved, 100, regular, 4);
  // Stride within stride.
  CHECK(MPI_Type_create_hvector(2, 1, 1000, strided, &irregular) == MPI_SUCCESS);
  const MPI_Offset nested[] = {0, 10, 20, 1000};
  writeThroughView(file, path, 0, irregular, 0, nested, 4);
  int lengths[] = {4, 4, 4}, places[] = {0, 10, 30};
  CHECK(MPI_Type_indexed(3, lengths, places, MPI_CHAR, &irregular) == MPI_SUCCESS);
  const MPI_Offset apart[] = {0, 10, 30};
  writeThroughView(file, path, 0, irregular, 0, apart, 3);
  CHECK(MPI_Type_free(&strided) == MPI_SUCCESS);
  MPI_Offset size = 0;
  CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == 1004);
  MPI(MPI_File_close(&file));
  note("MPI_File_close", path, 0, 0);
}

static void openMany(void) {
  static MPI_File files[kFiles];
  char name[64];
  for (int i = 0; i < kFiles; ++i) {
    snprintf(name, sizeof name, "many.%d.%d", rank, i);
    PATH(path, directory, name);
    MPI(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &files[i]));
    note("MPI_File_open", path, 0, 0);
  }
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = turn; i < kFiles; i += 2) {
      snprintf(name, sizeof name, "many.%d.%d", rank, i);
      PATH(path, directory, name);
      MPI(MPI_File_write_at(files[i], i, name, 1, MPI_CHAR, MPI_STATUS_IGNORE));
      note("MPI_File_write_at", path, i, 1);
      MPI(MPI_File_close(&files[i]));
      note("MPI_File_close", path, 0, 0);
    }
  }
}

// The application's own I/O, although MPI is on the stack.
static void logSum(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
  char name[32];
  snprintf(name, sizeof name, "sum.%d", rank);
  PATH(path, directory, name);
  int fd = open(path, O_CREAT | O_APPEND | O_WRONLY, 0644);
  CHECK(fd >= 0 && write(fd, "sum\n", 4) == 4 && close(fd) == 0);
}

static void reduceByOwnFunction(void) {
  MPI_Op op;
  CHECK(MPI_Op_create(logSum, 1, &op) == MPI_SUCCESS);
  int sum = 0;
  MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD));
  CHECK(sum == ranks * (ranks - 1) / 2);
  CHECK(MPI_Op_free(&op) == MPI_SUCCESS);
}

// Ordered and nonblocking calls, and some that only ask.
static void passBy(void) {
  PATH(path, directory, "ordered");
  MPI_File file;
  MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  note("MPI_File_open", path, 0, 0);
  MPI(MPI_File_preallocate(file, ranks));
  note("MPI_File_preallocate", path, 0, 0);
  MPI(MPI_File_write_ordered(file, "a", 1, MPI_CHAR, MPI_STATUS_IGNORE));
  note("MPI_File_write_ordered", path, -1, 1);
  MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  note("MPI_File_seek_shared", path, 0, 0);
  char all = 0;
  MPI(MPI_File_read_ordered(file, &all, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  note("MPI_File_read_ordered", path, -1, 1);
  CHECK(all == 'a');
  MPI(MPI_File_close(&file));
  note("MPI_File_close", path, 0, 0);
  PATH(later, directory, "nonblocking");
  MPI(MPI_File_open(MPI_COMM_WORLD, later, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  note("MPI_File_open", later, 0, 0);
  MPI_Request request;
  MPI(MPI_File_iwrite_at(file, 10 + rank, "b", 1, MPI_CHAR, &request));
  note("MPI_File_iwrite_at", later, 10 + rank, 1);
  MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MPI_Offset position = 0;
  CHECK(MPI_File_get_position(file, &position) == MPI_SUCCESS);
  int same = 0;
  CHECK(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &same) == MPI_SUCCESS);
  MPI_Comm copy;
  MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  MPI(MPI_Comm_free(&copy));
  MPI(MPI_File_close(&file));
  note("MPI_File_close", later, 0, 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc == 2);
  directory = argv[1];
  failToOpen();
  shareAFile();
  useViews();
  openMany();
  reduceByOwnFunction();
  passBy();
  char name[32];
  snprintf(name, sizeof name, "account.%d", rank);
  PATH(path, directory, name);
  FILE* out = fopen(path, "w");
  CHECK(out != NULL && fwrite(account, 1, account_bytes, out) == account_bytes);
  CHECK(fclose(out) == 0);
  MPI_Finalize();
  return 0;
}
