// Names files in the ways in which programs do, to count what a file system is asked for each.
//
//   c_names WAY DIRECTORY ROUNDS
//
// absolute: by whole paths. above: from the directory that holds DIRECTORY. inside: from DIRECTORY
// after a chdir. deep: from a directory in it, made by the program. dirfd: from open directories.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static char base[512];  // in front of each name, with its slash

static const char* at(const char* name, int number) {
  static char paths[2][1024];
  static int turn;
  char* path = paths[turn = 1 - turn];
  snprintf(path, sizeof paths[0], "%s%s%d", base, name, number);
  return path;
}

static void round_(int i) {
  const int fd = open(at("f", i), O_RDWR | O_CREAT | O_EXCL, 0644);
  CHECK(fd >= 0);
  CHECK(pwrite(fd, "content", 7, 0) == 7);
  CHECK(close(fd) == 0);
  struct stat facts;
  CHECK(stat(at("f", i), &facts) == 0);
  CHECK(lstat(at("missing", i), &facts) != 0);
  CHECK(access(at("f", i), R_OK) == 0);
  CHECK(rename(at("f", i), at("g", i)) == 0);
  CHECK(link(at("g", i), at("h", i)) == 0);
  FILE* stream = fopen(at("g", i), "r");
  CHECK(stream != NULL);
  CHECK(fgetc(stream) == 'c');
  CHECK(fclose(stream) == 0);
  CHECK(truncate(at("h", i), 3) == 0);
  CHECK(mkdir(at("d", i), 0755) == 0);
  CHECK(rmdir(at("d", i)) == 0);
  CHECK(unlink(at("g", i)) == 0);
  if (i % 2 == 0) CHECK(unlink(at("h", i)) == 0);
}

static void relativeRound(int directory, int other, int i) {
  const int fd = openat(directory, at("f", i), O_RDWR | O_CREAT | O_EXCL, 0644);
  CHECK(fd >= 0);
  CHECK(pwrite(fd, "content", 7, 0) == 7);
  CHECK(close(fd) == 0);
  struct stat facts;
  CHECK(fstatat(directory, at("f", i), &facts, 0) == 0);
  CHECK(faccessat(directory, at("f", i), R_OK, 0) == 0);
  CHECK(renameat(directory, at("f", i), other, at("g", i)) == 0);
  CHECK(mkdirat(other, at("d", i), 0755) == 0);
  CHECK(unlinkat(other, at("d", i), AT_REMOVEDIR) == 0);
  if (i % 2 == 0) CHECK(unlinkat(other, at("g", i), 0) == 0);
}

int main(int count, char** words) {
  CHECK(count == 4);
  const char* way = words[1];
  const char* directory = words[2];
  const int rounds = atoi(words[3]);
  char path[512];
  if (strcmp(way, "absolute") == 0) {
    snprintf(base, sizeof base, "%s/", directory);
  } else if (strcmp(way, "above") == 0) {
    const char* name = strrchr(directory, '/') + 1;
    snprintf(path, sizeof path, "%.*s", (int)(name - directory), directory);
    CHECK(chdir(path) == 0);
    snprintf(base, sizeof base, "%s/", name);
  } else if (strcmp(way, "inside") == 0) {
    CHECK(chdir(directory) == 0);
  } else if (strcmp(way, "deep") == 0) {
    snprintf(path, sizeof path, "%s/a", directory);
    CHECK(mkdir(path, 0755) == 0);
    CHECK(chdir(directory) == 0 && mkdir("a/b", 0755) == 0);
    CHECK(chdir("a") == 0 && chdir("b") == 0);
  } else {
    CHECK(strcmp(way, "dirfd") == 0);
    snprintf(path, sizeof path, "%s/a", directory);
    CHECK(mkdir(path, 0755) == 0);
    const int first = open(directory, O_RDONLY | O_DIRECTORY);
    const int second = openat(first, "a", O_RDONLY | O_DIRECTORY);
    CHECK(first >= 0 && second >= 0);
    for (int i = 0; i < rounds; ++i) relativeRound(first, second, i);
    return 0;
  }
  for (int i = 0; i < rounds; ++i) round_(i);
  return 0;
}
