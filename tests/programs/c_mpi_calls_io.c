// The one-sided calls and those of MPI-IO; see c_mpi_calls.c.
#include "c_mpi_calls.h"

static const MPI_Comm world = MPI_COMM_WORLD;

#define BY_REQUEST(CALL, ...)                  \
  SOME {                                       \
    OK(CALL(__VA_ARGS__, &request));           \
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE)); \
  }

static void makeWindows(void) {
  static int memory[kInts];
  MPI_Win window;
  void* base;
  SOME {
    OK(MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, world, &window));
    OK(MPI_Win_free(&window));
  }
  SOME {
    OK(MPI_Win_allocate_shared(256, 4, MPI_INFO_NULL, world, &base, &window));
    OK(MPI_Win_free(&window));
  }
  SOME {
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, world, &window));
    OK(MPI_Win_free(&window));
  }
}

static void transfers(MPI_Win window, int to) {
  const int one = 1, compare = 7;
  int result[4];
  MPI_Request request;
  SOME OK(MPI_Put(in, 4, MPI_INT, to, 0, 4, MPI_INT, window));
  SOME OK(MPI_Get(out, 4, MPI_INT, to, 4, 4, MPI_INT, window));
  SOME OK(MPI_Accumulate(in, 4, MPI_INT, to, 8, 4, MPI_INT, MPI_SUM, window));
  SOME OK(
      MPI_Get_accumulate(in, 4, MPI_INT, result, 4, MPI_INT, to, 12, 4, MPI_INT, MPI_SUM, window));
  SOME OK(MPI_Fetch_and_op(&one, result, MPI_INT, to, 16, MPI_SUM, window));
  SOME OK(MPI_Compare_and_swap(&one, &compare, result, MPI_INT, to, 17, window));
  BY_REQUEST(MPI_Rput, in, 4, MPI_INT, to, 20, 4, MPI_INT, window)
  BY_REQUEST(MPI_Rget, out, 4, MPI_INT, to, 24, 4, MPI_INT, window)
  BY_REQUEST(MPI_Raccumulate, in, 4, MPI_INT, to, 28, 4, MPI_INT, MPI_SUM, window)
  BY_REQUEST(MPI_Rget_accumulate, in, 4, MPI_INT, result, 4, MPI_INT, to, 32, 4, MPI_INT, MPI_SUM,
             window)
}

void oneSidedCalls(void) {
  const int with = rank ^ 1;
  int flag;
  int* base;
  MPI_Win window;
  MPI_Group all, group;
  makeWindows();
  OK(MPI_Win_allocate(kInts * 4, 4, MPI_INFO_NULL, world, &base, &window));
  memset(base, 0, kInts * 4);
  SOME OK(MPI_Win_fence(0, window));
  OK(MPI_Put(in, 1, MPI_INT, with, 0, 1, MPI_INT, window));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
  OK(MPI_Comm_group(world, &all));
  OK(MPI_Group_incl(all, 1, &with, &group));
  for (int way = 0; way < 2; ++way) {
    SOME {
      OK(MPI_Win_post(group, 0, window));
      OK(MPI_Win_start(group, 0, window));
      OK(MPI_Put(in, 1, MPI_INT, with, 1, 1, MPI_INT, window));
      OK(MPI_Win_complete(window));
      if (way == 0) OK(MPI_Win_wait(window));
      if (way == 0) continue;
      do OK(MPI_Win_test(window, &flag));
      while (!flag);
    }
  }
  OK(MPI_Group_free(&group));
  OK(MPI_Group_free(&all));
  SOME {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, with, 0, window));
    OK(MPI_Put(in, 1, MPI_INT, with, 2, 1, MPI_INT, window));
    OK(MPI_Win_unlock(with, window));
  }
  OK(MPI_Win_lock_all(0, window));
  transfers(window, with);
  SOME OK(MPI_Win_flush(with, window));
  SOME OK(MPI_Win_flush_all(window));
  SOME OK(MPI_Win_flush_local(with, window));
  SOME OK(MPI_Win_flush_local_all(window));
  OK(MPI_Win_unlock_all(window));
  OK(MPI_Barrier(world));
  OK(MPI_Win_free(&window));
}

static void transfersOfFile(MPI_File file, int nonblocking_collectives) {
  const MPI_Offset at = rank * 16;
  MPI_Status status;
  MPI_Request request;
  SOME OK(MPI_File_write_at(file, at, in, 16, MPI_INT, &status));
  SOME OK(MPI_File_read_at(file, at, out, 16, MPI_INT, &status));
  SOME OK(MPI_File_write_at_all(file, at, in, 16, MPI_INT, MPI_STATUS_IGNORE));
  SOME OK(MPI_File_read_at_all(file, at, out, 16, MPI_INT, MPI_STATUS_IGNORE));
  SOME OK(MPI_File_seek(file, at, MPI_SEEK_SET));
  SOME OK(MPI_File_write(file, in, 16, MPI_INT, &status));
  SOME OK(MPI_File_write_all(file, in, 16, MPI_INT, &status));
  OK(MPI_File_seek(file, at, MPI_SEEK_SET));
  SOME OK(MPI_File_read(file, out, 16, MPI_INT, &status));
  SOME OK(MPI_File_read_all(file, out, 16, MPI_INT, &status));
  BY_REQUEST(MPI_File_iwrite, file, in, 16, MPI_INT)
  BY_REQUEST(MPI_File_iread, file, out, 16, MPI_INT)
  BY_REQUEST(MPI_File_iwrite_at, file, at, in, 16, MPI_INT)
  BY_REQUEST(MPI_File_iread_at, file, at, out, 16, MPI_INT)
  if (nonblocking_collectives) {
    BY_REQUEST(MPI_File_iwrite_all, file, in, 16, MPI_INT)
    BY_REQUEST(MPI_File_iread_all, file, out, 16, MPI_INT)
    BY_REQUEST(MPI_File_iwrite_at_all, file, at, in, 16, MPI_INT)
    BY_REQUEST(MPI_File_iread_at_all, file, at, out, 16, MPI_INT)
  }
  SOME {
    OK(MPI_File_write_all_begin(file, in, 16, MPI_INT));
    OK(MPI_File_write_all_end(file, in, &status));
  }
  SOME {
    OK(MPI_File_read_all_begin(file, out, 16, MPI_INT));
    OK(MPI_File_read_all_end(file, out, &status));
  }
  SOME {
    OK(MPI_File_write_at_all_begin(file, at, in, 16, MPI_INT));
    OK(MPI_File_write_at_all_end(file, in, &status));
  }
  SOME {
    OK(MPI_File_read_at_all_begin(file, at, out, 16, MPI_INT));
    OK(MPI_File_read_at_all_end(file, out, &status));
  }
}

// With counts of any length.
static void largeCounts(MPI_File file) {
#if MPI_VERSION >= 4
  const MPI_Offset at = rank * 16;
  MPI_Status status;
  MPI_Request request;
  SOME OK(MPI_File_write_at_c(file, at, in, 16, MPI_INT, &status));
  SOME OK(MPI_File_read_at_c(file, at, out, 16, MPI_INT, &status));
  SOME OK(MPI_File_write_at_all_c(file, at, in, 16, MPI_INT, MPI_STATUS_IGNORE));
  SOME OK(MPI_File_read_at_all_c(file, at, out, 16, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_seek(file, at, MPI_SEEK_SET));
  SOME OK(MPI_File_write_c(file, in, 16, MPI_INT, &status));
  SOME OK(MPI_File_write_all_c(file, in, 16, MPI_INT, &status));
  OK(MPI_File_seek(file, at, MPI_SEEK_SET));
  SOME OK(MPI_File_read_c(file, out, 16, MPI_INT, &status));
  SOME OK(MPI_File_read_all_c(file, out, 16, MPI_INT, &status));
  BY_REQUEST(MPI_File_iwrite_c, file, in, 16, MPI_INT)
  BY_REQUEST(MPI_File_iread_c, file, out, 16, MPI_INT)
  BY_REQUEST(MPI_File_iwrite_at_c, file, at, in, 16, MPI_INT)
  BY_REQUEST(MPI_File_iread_at_c, file, at, out, 16, MPI_INT)
  BY_REQUEST(MPI_File_iwrite_all_c, file, in, 16, MPI_INT)
  BY_REQUEST(MPI_File_iread_all_c, file, out, 16, MPI_INT)
  BY_REQUEST(MPI_File_iwrite_at_all_c, file, at, in, 16, MPI_INT)
  BY_REQUEST(MPI_File_iread_at_all_c, file, at, out, 16, MPI_INT)
  SOME {
    OK(MPI_File_write_all_begin_c(file, in, 16, MPI_INT));
    OK(MPI_File_write_all_end(file, in, &status));
  }
  SOME {
    OK(MPI_File_read_all_begin_c(file, out, 16, MPI_INT));
    OK(MPI_File_read_all_end(file, out, &status));
  }
  SOME {
    OK(MPI_File_write_at_all_begin_c(file, at, in, 16, MPI_INT));
    OK(MPI_File_write_at_all_end(file, in, &status));
  }
  SOME {
    OK(MPI_File_read_at_all_begin_c(file, at, out, 16, MPI_INT));
    OK(MPI_File_read_at_all_end(file, out, &status));
  }
  SOME OK(MPI_File_write_shared_c(file, in, 4, MPI_INT, &status));
  SOME OK(MPI_File_write_ordered_c(file, in, 4, MPI_INT, &status));
  BY_REQUEST(MPI_File_iwrite_shared_c, file, in, 4, MPI_INT)
  SOME {
    OK(MPI_File_write_ordered_begin_c(file, in, 4, MPI_INT));
    OK(MPI_File_write_ordered_end(file, in, &status));
  }
  OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  SOME OK(MPI_File_read_shared_c(file, out, 4, MPI_INT, &status));
  SOME OK(MPI_File_read_ordered_c(file, out, 4, MPI_INT, &status));
  BY_REQUEST(MPI_File_iread_shared_c, file, out, 4, MPI_INT)
  SOME {
    OK(MPI_File_read_ordered_begin_c(file, out, 4, MPI_INT));
    OK(MPI_File_read_ordered_end(file, out, &status));
  }
#else
  (void)file;
#endif
}

static void sharedPointer(MPI_File file) {
  MPI_Status status;
  MPI_Request request;
  SOME OK(MPI_File_write_shared(file, in, 4, MPI_INT, &status));
  SOME OK(MPI_File_write_ordered(file, in, 4, MPI_INT, &status));
  BY_REQUEST(MPI_File_iwrite_shared, file, in, 4, MPI_INT)
  SOME {
    OK(MPI_File_write_ordered_begin(file, in, 4, MPI_INT));
    OK(MPI_File_write_ordered_end(file, in, &status));
  }
  SOME OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  SOME OK(MPI_File_read_shared(file, out, 4, MPI_INT, &status));
  SOME OK(MPI_File_read_ordered(file, out, 4, MPI_INT, &status));
  BY_REQUEST(MPI_File_iread_shared, file, out, 4, MPI_INT)
  SOME {
    OK(MPI_File_read_ordered_begin(file, out, 4, MPI_INT));
    OK(MPI_File_read_ordered_end(file, out, &status));
  }
}

void fileCalls(const char* directory, int nonblocking_collectives) {
  PATH(path, directory, "file");
  MPI_File file;
  MPI_Info info;
  OK(MPI_File_open(world, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  SOME OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  SOME OK(MPI_File_set_size(file, 1 << 16));
  SOME OK(MPI_File_preallocate(file, 1 << 16));
  OK(MPI_Info_create(&info));
  SOME OK(MPI_File_set_info(file, info));
  OK(MPI_Info_free(&info));
  SOME OK(MPI_File_set_atomicity(file, 0));
  transfersOfFile(file, nonblocking_collectives);
  sharedPointer(file);
  largeCounts(file);
  SOME OK(MPI_File_sync(file));
  OK(MPI_File_close(&file));
  // Fails: a file that is not there.
  SOME CHECK(MPI_File_open(world, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) !=
             MPI_SUCCESS);
  if (rank == 0) OK(MPI_File_delete(path, MPI_INFO_NULL));
}
