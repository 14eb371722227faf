// Files that ranks have in common on one node, at a path that all nodes have, and one of all ranks.
//
//   c_node_files SCRATCH SHARED
//
// SCRATCH has a file "in" on each node, of another size on each. Ranks of a node write "part" in it
// together, a piece each, and read all of it; "own.RANK" is one's own. Each writes a line with the
// sizes that it found into its piece of SHARED/sizes.
#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>

#include "check.h"

enum { kPiece = 65536, kLine = 64 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 3);
  int rank = 0, local = 0, on_node = 0, length = 0;
  char host[MPI_MAX_PROCESSOR_NAME];
  MPI_Comm node;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // By the name of the host: it is one machine that the hosts of a test are on.
  MPI_Get_processor_name(host, &length);
  int color = 0;
  for (int i = 0; i < length; ++i) color = color * 31 + host[i];
  MPI_Comm_split(MPI_COMM_WORLD, color & 0x7fffffff, rank, &node);
  MPI_Comm_rank(node, &local);
  MPI_Comm_size(node, &on_node);

  static char piece[kPiece], all[64 * kPiece];
  memset(piece, 'a' + rank, sizeof piece);
  PATH(in, argv[1], "in");
  PATH(part, argv[1], "part");
  PATH(sizes, argv[2], "sizes");
  char own[4096];
  snprintf(own, sizeof own, "%s/own.%d", argv[1], rank);

  const int input = open(in, O_RDONLY);
  CHECK(input >= 0);
  const ssize_t found = read(input, all, sizeof all);
  CHECK(found > 0 && close(input) == 0);

  const int fd = open(part, O_RDWR | O_CREAT, 0644);
  CHECK(fd >= 0 && pwrite(fd, piece, kPiece, (off_t)local * kPiece) == kPiece);
  MPI_Barrier(node);
  const ssize_t got = pread(fd, all, sizeof all, 0);
  CHECK(got == (ssize_t)on_node * kPiece && close(fd) == 0);
  for (int i = 0; i < on_node; ++i) CHECK(all[i * kPiece] >= 'a');

  const int mine = open(own, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  CHECK(mine >= 0 && write(mine, piece, 100 + (size_t)rank) == 100 + rank && close(mine) == 0);

  // By a directory above, from which another file system may begin.
  char above[4096];
  snprintf(above, sizeof above, "%s/..", argv[1]);
  const char* const name = strrchr(argv[1], '/') + 1;
  const int directory = open(above, O_RDONLY | O_DIRECTORY);
  char below[4096];
  snprintf(below, sizeof below, "%s/part", name);
  const int again = openat(directory, below, O_RDONLY);
  CHECK(directory >= 0 && again >= 0 && read(again, all, 10) == 10);
  CHECK(close(again) == 0 && close(directory) == 0);

  char line[kLine + 1];
  snprintf(line, sizeof line, "%-*zd", kLine - 1, found);
  line[kLine - 1] = '\n';
  const int common = open(sizes, O_WRONLY | O_CREAT, 0644);
  CHECK(common >= 0 && pwrite(common, line, kLine, (off_t)rank * kLine) == kLine);
  CHECK(close(common) == 0);
  MPI_Finalize();
  return 0;
}
