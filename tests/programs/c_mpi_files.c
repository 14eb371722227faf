// Writes a file by MPI-IO in one way, and reads it again in the same one. Each rank has 9 blocks of
// 100,000 bytes, one of each rank after the other; the last block of the last rank is not written,
// nor, by ways with an offset, the fifth one of the second rank.
//
//   c_mpi_files HOW FILE      HOW: one of `ways` below
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                               \
  do {                                                                 \
    if (!(condition)) {                                                \
      fprintf(stderr, "c_mpi_files.c:%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                    \
    }                                                                  \
  } while (0)
#define OK(call) CHECK((call) == MPI_SUCCESS)

enum { kBlock = 100000, kBlocks = 9 };
static char blocks[kBlocks][kBlock];
static int rank, ranks;
static MPI_File file;

static int leaves_hole;

static int count(int block) {
  if (leaves_hole && rank == 1 && block == 4) return 0;
  return rank == ranks - 1 && block == kBlocks - 1 ? 0 : kBlock;
}
static MPI_Offset at(int block) { return ((MPI_Offset)block * ranks + rank) * kBlock; }
static char letter(int block) { return (char)('a' + (rank * kBlocks + block) % 26); }

// Each rank its own blocks by an explicit offset, one call each.
#define BY_OFFSET(NAME, WRITE, READ)                                              \
  static void NAME(int writes) {                                                  \
    for (int i = 0; i < kBlocks; ++i) {                                           \
      if (writes)                                                                 \
        OK(WRITE(file, at(i), blocks[i], count(i), MPI_BYTE, MPI_STATUS_IGNORE)); \
      else                                                                        \
        OK(READ(file, at(i), blocks[i], count(i), MPI_BYTE, MPI_STATUS_IGNORE));  \
    }                                                                             \
  }
BY_OFFSET(independent, MPI_File_write_at, MPI_File_read_at)
BY_OFFSET(collective, MPI_File_write_at_all, MPI_File_read_at_all)

#define BY_REQUEST(NAME, WRITE, READ)                                        \
  static void NAME(int writes) {                                             \
    MPI_Request requests[kBlocks];                                           \
    for (int i = 0; i < kBlocks; ++i) {                                      \
      if (writes)                                                            \
        OK(WRITE(file, at(i), blocks[i], count(i), MPI_BYTE, &requests[i])); \
      else                                                                   \
        OK(READ(file, at(i), blocks[i], count(i), MPI_BYTE, &requests[i]));  \
    }                                                                        \
    OK(MPI_Waitall(kBlocks, requests, MPI_STATUSES_IGNORE));                 \
  }
BY_REQUEST(nonblocking, MPI_File_iwrite_at, MPI_File_iread_at)
BY_REQUEST(nonblockingCollective, MPI_File_iwrite_at_all, MPI_File_iread_at_all)

static void split(int writes) {
  for (int i = 0; i < kBlocks; ++i) {
    if (writes) {
      OK(MPI_File_write_at_all_begin(file, at(i), blocks[i], count(i), MPI_BYTE));
      OK(MPI_File_write_at_all_end(file, blocks[i], MPI_STATUS_IGNORE));
    } else {
      OK(MPI_File_read_at_all_begin(file, at(i), blocks[i], count(i), MPI_BYTE));
      OK(MPI_File_read_at_all_end(file, blocks[i], MPI_STATUS_IGNORE));
    }
  }
}

// All blocks of a rank by one call, through a view in which they lie one after the other.
static void seeOwnBlocks(void) {
  MPI_Datatype block, own;
  OK(MPI_Type_contiguous(kBlock, MPI_BYTE, &block));
  OK(MPI_Type_create_resized(block, 0, (MPI_Aint)ranks * kBlock, &own));
  OK(MPI_Type_commit(&own));
  OK(MPI_File_set_view(file, (MPI_Offset)rank * kBlock, MPI_BYTE, own, "native", MPI_INFO_NULL));
  OK(MPI_Type_free(&block));
  OK(MPI_Type_free(&own));
}
static int all(void) { return (kBlocks - 1) * kBlock + count(kBlocks - 1); }

#define BY_VIEW(NAME, WRITE, READ)                                 \
  static void NAME(int writes) {                                   \
    seeOwnBlocks();                                                \
    if (writes)                                                    \
      OK(WRITE(file, blocks, all(), MPI_BYTE, MPI_STATUS_IGNORE)); \
    else                                                           \
      OK(READ(file, blocks, all(), MPI_BYTE, MPI_STATUS_IGNORE));  \
  }
BY_VIEW(view, MPI_File_write, MPI_File_read)
BY_VIEW(viewCollective, MPI_File_write_all, MPI_File_read_all)

// By the pointer that all ranks share, in the order of the ranks.
static void ordered(int writes) {
  for (int i = 0; i < kBlocks; ++i) {
    if (writes)
      OK(MPI_File_write_ordered(file, blocks[i], count(i), MPI_BYTE, MPI_STATUS_IGNORE));
    else
      OK(MPI_File_read_ordered(file, blocks[i], count(i), MPI_BYTE, MPI_STATUS_IGNORE));
  }
}

static const struct {
  const char* name;
  void (*move)(int writes);
  int leaves_hole;
} ways[] = {{"independent", independent, 1},
            {"collective", collective, 1},
            {"nonblocking", nonblocking, 1},
            {"nonblocking-collective", nonblockingCollective, 1},
            {"split", split, 1},
            {"view", view, 0},
            {"view-collective", viewCollective, 0},
            {"ordered", ordered, 0}};

static void openFile(const char* name, int mode) {
  OK(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file));
}

int main(int words_count, char** words) {
  MPI_Init(&words_count, &words);
  CHECK(words_count == 3);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  void (*move)(int) = NULL;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (strcmp(ways[i].name, words[1]) != 0) continue;
    move = ways[i].move;
    leaves_hole = ways[i].leaves_hole;
  }
  CHECK(move != NULL);
  for (int i = 0; i < kBlocks; ++i) memset(blocks[i], letter(i), kBlock);
  openFile(words[2], MPI_MODE_RDWR | MPI_MODE_CREATE);
  move(1);
  OK(MPI_File_close(&file));
  memset(blocks, 0, sizeof blocks);
  openFile(words[2], MPI_MODE_RDONLY);
  move(0);
  OK(MPI_File_close(&file));
  for (int i = 0; i < kBlocks; ++i) {
    for (int k = 0; k < count(i); ++k) CHECK(blocks[i][k] == letter(i));
  }
  MPI_Finalize();
  return 0;
}
