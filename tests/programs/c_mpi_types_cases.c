// One datatype of each kind, made by MPI, and beside it by loops where its bytes lie.
#include "c_mpi_types.h"

static void bytesAt(struct Case* c, long place, int bytes) {
  CHECK(c->bytes + bytes <= kMostBytes);
  for (int i = 0; i < bytes; ++i) c->place[c->bytes++] = place + i;
}

static void contiguous(struct Case* c) {
  c->same = 1;
  MPI(MPI_Type_contiguous(5, MPI_DOUBLE, &c->filetype));
  bytesAt(c, 0, 40);
  c->extent = 40;
  c->disp = 24 + (MPI_Offset)rank * 4000;
}

static void vector(struct Case* c) {
  c->same = 1;
  c->etype = MPI_INT;
  MPI(MPI_Type_vector(3, 2, 5, MPI_INT, &c->filetype));
  for (int i = 0; i < 3; ++i) bytesAt(c, i * 20, 8);
  c->extent = 2 * 20 + 8;
  c->disp = 7 + (MPI_Offset)rank * 40000;
}

static void hvector(struct Case* c) {
  c->same = 1;
  c->etype = MPI_BYTE;
  MPI(MPI_Type_create_hvector(4, 4, 13, MPI_BYTE, &c->filetype));
  for (int i = 0; i < 4; ++i) bytesAt(c, i * 13, 4);
  c->extent = 3 * 13 + 4;
  c->disp = (MPI_Offset)rank * 40000;
}

static void indexed(struct Case* c) {
  int lengths[] = {2, 0, 1, 3}, places[] = {1, 4, 5, 9};
  MPI(MPI_Type_indexed(4, lengths, places, MPI_DOUBLE, &c->filetype));
  for (int i = 0; i < 4; ++i) bytesAt(c, places[i] * 8, lengths[i] * 8);
  c->extent = 12 * 8 - 8;  // from the lower bound, which is that of the first block
  c->disp = (MPI_Offset)rank * 40000;
}

static void hindexed(struct Case* c) {
  c->same = 1;
  int lengths[] = {1, 3, 2};
  MPI_Aint places[] = {3, 11, 50};
  c->etype = MPI_BYTE;
  MPI(MPI_Type_create_hindexed(3, lengths, places, MPI_BYTE, &c->filetype));
  for (int i = 0; i < 3; ++i) bytesAt(c, (long)places[i], lengths[i]);
  c->extent = 52 - 3;
  c->disp = 100 + (MPI_Offset)rank * 40000;
}

static void indexedBlock(struct Case* c) {
  c->same = 1;
  int places[] = {0, 3, 6, 9, 12, 20, 21};
  c->etype = MPI_INT;
  MPI(MPI_Type_create_indexed_block(7, 1, places, MPI_INT, &c->filetype));
  for (int i = 0; i < 7; ++i) bytesAt(c, places[i] * 4, 4);
  c->extent = 22 * 4;
  c->disp = (MPI_Offset)rank * 40000;
}

static void hindexedBlock(struct Case* c) {
  MPI_Aint places[] = {0, 30, 42};
  c->etype = MPI_SHORT;
  MPI(MPI_Type_create_hindexed_block(3, 2, places, MPI_SHORT, &c->filetype));
  for (int i = 0; i < 3; ++i) bytesAt(c, (long)places[i], 4);
  c->extent = 46;
  c->disp = 1 + (MPI_Offset)rank * 40000;
}

static void structure(struct Case* c) {
  c->same = 1;
  int lengths[] = {2, 1, 3};
  MPI_Aint places[] = {0, 16, 32};
  MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_SHORT}, made;
  c->etype = MPI_BYTE;
  MPI(MPI_Type_create_struct(3, lengths, places, types, &made));
  MPI(MPI_Type_create_resized(made, 0, 48, &c->filetype));
  MPI(MPI_Type_free(&made));
  bytesAt(c, 0, 8);
  bytesAt(c, 16, 8);
  bytesAt(c, 32, 6);
  c->extent = 48;
  c->disp = (MPI_Offset)rank * 40000;
}

// The library pads the end of a structure to the alignment of its members, which is its own affair:
// the program asks for the extent here, and nowhere else.
static void padded(struct Case* c) {
  c->same = 1;
  int lengths[] = {1, 1};
  MPI_Aint places[] = {0, 8}, begin = 0, extent = 0;
  MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR}, made;
  c->etype = MPI_BYTE;
  MPI(MPI_Type_create_struct(2, lengths, places, types, &made));
  MPI(MPI_Type_get_extent(made, &begin, &extent));
  MPI(MPI_Type_contiguous(3, made, &c->filetype));
  MPI(MPI_Type_free(&made));
  for (int i = 0; i < 3; ++i) bytesAt(c, i * (long)extent, 9);
  c->extent = 3 * extent;
  c->disp = (MPI_Offset)rank * 40000;
}

static void columns(struct Case* c) {
  int sizes[] = {6, 2 * ranks}, parts[] = {4, 2}, starts[] = {1, 2 * rank};
  MPI(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &c->filetype));
  for (int i = 0; i < 4; ++i) bytesAt(c, ((1 + i) * 2L * ranks + 2 * rank) * 8, 16);
  c->extent = 6 * 2 * ranks * 8;
  c->disp = 16;
}

static void cube(struct Case* c) {
  int sizes[] = {3, 4, 2 * ranks}, parts[] = {2, 3, 1}, starts[] = {1, 0, 2 * rank + 1};
  c->etype = MPI_INT;
  MPI(MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &c->filetype));
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) bytesAt(c, (((1 + i) * 4 + j) * 2L * ranks + 2 * rank + 1) * 4, 4);
  }
  c->extent = 3 * 4 * 2 * ranks * 4;
}

// A part of an array that each rank has for itself.
static void part(struct Case* c) {
  c->same = 1;
  int sizes[] = {4, 5}, parts[] = {3, 2}, starts[] = {1, 2};
  c->etype = MPI_INT;
  MPI(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &c->filetype));
  for (int i = 1; i < 4; ++i) bytesAt(c, (i * 5 + 2) * 4, 8);
  c->extent = 4 * 5 * 4;
  c->disp = 11 + (MPI_Offset)rank * 40000;
}

static void fortranCube(struct Case* c) {
  int sizes[] = {4, ranks, 3}, parts[] = {2, 1, 2}, starts[] = {1, rank, 0};
  c->etype = MPI_SHORT;
  MPI(MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_SHORT,
                               &c->filetype));
  for (int k = 0; k < 2; ++k) bytesAt(c, ((k * (long)ranks + rank) * 4 + 1) * 2, 4);
  c->extent = 4 * ranks * 3 * 2;
  c->disp = 3;
}

// 3 rows to a process in turn in blocks of 2, columns in one piece.
static void cyclic(struct Case* c) {
  const int rows = 5 * ranks;
  int sizes[] = {rows, 3}, kinds[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
  int arguments[] = {2, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {ranks, 1};
  MPI(MPI_Type_create_darray(ranks, rank, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_DOUBLE,
                             &c->filetype));
  for (int row = 0; row < rows; ++row) {
    if (row / 2 % ranks == rank) bytesAt(c, row * 24L, 24);
  }
  c->extent = rows * 24;
}

// Blocks in both directions of a grid, in Fortran's order, the last ones shorter.
static void blocks(struct Case* c) {
  int grid[] = {0, 0}, sizes[] = {7, 11};
  MPI(MPI_Dims_create(ranks, 2, grid));
  int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK};
  int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  c->etype = MPI_INT;
  MPI(MPI_Type_create_darray(ranks, rank, 2, sizes, kinds, arguments, grid, MPI_ORDER_FORTRAN,
                             MPI_INT, &c->filetype));
  const int mine[] = {rank / grid[1], rank % grid[1]};
  const int block[] = {(7 + grid[0] - 1) / grid[0], (11 + grid[1] - 1) / grid[1]};
  for (int y = 0; y < 11; ++y) {
    for (int x = 0; x < 7; ++x) {
      if (x / block[0] == mine[0] && y / block[1] == mine[1]) bytesAt(c, (y * 7L + x) * 4, 4);
    }
  }
  c->extent = 7 * 11 * 4;
}

static void resized(struct Case* c) {
  c->same = 1;
  MPI_Datatype made;
  c->etype = MPI_INT;
  MPI(MPI_Type_contiguous(3, MPI_INT, &made));
  MPI(MPI_Type_create_resized(made, 0, 40, &c->filetype));
  MPI(MPI_Type_free(&made));
  bytesAt(c, 0, 12);
  c->extent = 40;
  c->disp = (MPI_Offset)rank * 40000;
}

static void pairs(struct Case* c) {
  c->etype = MPI_SHORT_INT;
  MPI(MPI_Type_vector(2, 2, 3, MPI_SHORT_INT, &c->filetype));
  for (int i = 0; i < 4; ++i) {
    const long place = (i / 2 * 3 + i % 2) * 8L;
    bytesAt(c, place, 2);
    bytesAt(c, place + 4, 4);
  }
  c->extent = 5 * 8;
  c->disp = (MPI_Offset)rank * 40000;
}

static void duplicate(struct Case* c) {
  MPI_Datatype made;
  c->etype = MPI_INT;
  MPI(MPI_Type_vector(2, 1, 4, MPI_INT, &made));
  MPI(MPI_Type_dup(made, &c->filetype));
  MPI(MPI_Type_free(&made));
  bytesAt(c, 0, 4);
  bytesAt(c, 16, 4);
  c->extent = 20;
  c->disp = (MPI_Offset)rank * 40000;
}

// A vector of resized structures of an indexed type and a column.
static void nested(struct Case* c) {
  c->same = 1;
  MPI_Datatype pieces, column, both, wide;
  int lengths[] = {1, 2}, places[] = {0, 3}, one[] = {1, 1};
  c->etype = MPI_SHORT;
  MPI(MPI_Type_indexed(2, lengths, places, MPI_SHORT, &pieces));  // at 0 and 6, 10 long
  int sizes[] = {3, 4}, parts[] = {2, 1}, starts[] = {1, 2};
  MPI(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_SHORT, &column));  // 24
  MPI_Aint at[] = {0, 12};
  MPI_Datatype types[] = {pieces, column};
  MPI(MPI_Type_create_struct(2, one, at, types, &both));
  MPI(MPI_Type_create_resized(both, 0, 40, &wide));
  MPI(MPI_Type_vector(2, 2, 3, wide, &c->filetype));
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const long place = (i * 3 + j) * 40L;
      bytesAt(c, place, 2);
      bytesAt(c, place + 6, 4);
      bytesAt(c, place + 12 + (4 + 2) * 2, 2);
      bytesAt(c, place + 12 + (8 + 2) * 2, 2);
    }
  }
  c->extent = 5 * 40;
  c->disp = 9 + (MPI_Offset)rank * 40000;
  MPI(MPI_Type_free(&pieces));
  MPI(MPI_Type_free(&column));
  MPI(MPI_Type_free(&both));
  MPI(MPI_Type_free(&wide));
}

static void (*const kMake[kCases])(struct Case*) = {
    contiguous, vector, hvector,   indexed,     hindexed, indexedBlock, hindexedBlock,
    structure,  padded, columns,   cube,        cyclic,   blocks,       resized,
    pairs,      nested, duplicate, fortranCube, part};
static const char* const kNames[kCases] = {"contiguous",
                                           "vector",
                                           "hvector",
                                           "indexed",
                                           "hindexed",
                                           "indexed_block",
                                           "hindexed_block",
                                           "struct",
                                           "padded",
                                           "columns",
                                           "cube",
                                           "cyclic",
                                           "blocks",
                                           "resized",
                                           "pairs",
                                           "nested",
                                           "dup",
                                           "fortran_cube",
                                           "part"};

void makeCase(int number, struct Case* c) {
  memset(c, 0, sizeof *c);
  c->name = kNames[number];
  c->etype = MPI_DOUBLE;
  kMake[number](c);
  MPI(MPI_Type_size(c->etype, &c->etype_bytes));
}
