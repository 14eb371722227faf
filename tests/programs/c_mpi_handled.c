// Programs do more with MPI-IO than reading and writing: they delete and open what is not there,
// make what is there already, give hints when a file is open, begin many requests, and leave files
// open that vanish at their end.
//   c_mpi_handled
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kBlock = 64, kRequests = 200 };

static MPI_File openFile(const char* name, int amode, MPI_Info hints) {
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, name, amode, hints, &file) != MPI_SUCCESS) {
    fprintf(stderr, "cannot open %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return file;
}

// All ranks of the communicator get an error, and go on.
static void openInVain(MPI_Comm communicator, const char* name, int amode) {
  MPI_File file;
  if (MPI_File_open(communicator, name, amode, MPI_INFO_NULL, &file) == MPI_SUCCESS) {
    fprintf(stderr, "could open %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char block[kBlock];
  memset(block, 'a' + rank, sizeof block);

  if (rank == 0) MPI_File_delete("old.0", MPI_INFO_NULL);
  openInVain(MPI_COMM_WORLD, "old.0", MPI_MODE_RDONLY);
  if (rank == ranks - 1) openInVain(MPI_COMM_SELF, "old.1", MPI_MODE_RDWR);
  MPI_Comm halves;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &halves);
  if (rank % 2 == 0) openInVain(halves, "old.2", MPI_MODE_WRONLY);
  MPI_Comm_free(&halves);
  MPI_Info hints;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "cb_nodes", "1");
  MPI_File file = openFile("new.0", MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
  MPI_Info later;
  MPI_Info_create(&later);
  MPI_Info_set(later, "romio_cb_write", "disable");
  MPI_File_set_info(file, later);
  for (int i = 0; i < kRequests; ++i) {
    MPI_Request request;
    MPI_File_iwrite_at(file, (MPI_Offset)(i * ranks + rank) * kBlock, block, kBlock, MPI_CHAR,
                       &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < kRequests; ++i) {
    MPI_File_write_ordered_begin(file, block, kBlock, MPI_CHAR);
    MPI_File_write_ordered_end(file, block, MPI_STATUS_IGNORE);
  }
  // It was opened without a reason to read there, and the program goes on.
  MPI_File_seek(file, -kBlock, MPI_SEEK_SET);
  MPI_File_write_at_all(file, (MPI_Offset)rank * kBlock, block, kBlock, MPI_CHAR,
                        MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  openInVain(MPI_COMM_WORLD, "new.0", MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR);

  MPI_File vanishes = openFile(
      "vanishes", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL);
  MPI_File_write_at_all(vanishes, (MPI_Offset)rank * kBlock, block, kBlock, MPI_CHAR,
                        MPI_STATUS_IGNORE);
  if (argc > 1) MPI_File_close(&vanishes);
  MPI_Info_free(&hints);
  MPI_Info_free(&later);
  MPI_Finalize();
  return 0;
}
