// Names and directories as they may be, and not only as they usually are.
#define _GNU_SOURCE
#include <sys/stat.h>

#include "survival.h"

static void oddBytes(void) {
  static const char* const kNames[] = {"new\nline",
                                       "tab\tand\rreturn",
                                       "no utf-8 \xff\xfe\xc3",
                                       "co:lon",
                                       "quo\"te's",
                                       "back\\slash",
                                       "escape \x1b[31m red \x7f",
                                       "\xe2\x80\xa8 line separator",
                                       "caf\xc3\xa9",
                                       "a,b=c d",
                                       "-rf *",
                                       "cut \xe2\x82",
                                       "\xed\xa0\x80",
                                       "\x01\x02\x1f"};
  for (size_t i = 0; i < sizeof kNames / sizeof kNames[0]; ++i) {
    int fd = newFile(kNames[i]);
    put(fd, 100 + (int)i);
    CHECK(close(fd) == 0);
  }
}

static const char* longestName(void) {
  static char name[256];
  memset(name, 'n', 255);
  return name;
}

// An absolute path of PATH_MAX - 1 bytes.
static void longestPath(void) {
  enum { kPathMax = 4096 };
  char path[kPathMax];
  size_t bytes = strlen(directory);
  CHECK(bytes < 1000);
  memcpy(path, directory, bytes + 1);
  while (bytes + 1 + 255 + 1 + 255 < kPathMax - 1) {
    bytes += (size_t)sprintf(path + bytes, "/%s", longestName());
    CHECK(mkdir(path, 0755) == 0 || errno == EEXIST);
  }
  size_t left = kPathMax - 1 - bytes - 1;
  if (left > 255) {
    bytes += (size_t)sprintf(path + bytes, "/%.*s", (int)(left - 10), longestName());
    CHECK(mkdir(path, 0755) == 0 || errno == EEXIST);
    left = kPathMax - 1 - bytes - 1;
  }
  path[bytes] = '/';
  memset(path + bytes + 1, 'f', left);
  path[kPathMax - 1] = '\0';
  int fd = open(path, O_CREAT | O_WRONLY | O_APPEND, 0644);
  CHECK(fd >= 0);
  put(fd, 1000);
  CHECK(close(fd) == 0);
  // One byte more is an error, as ever.
  char longer[kPathMax + 1];
  memcpy(longer, path, kPathMax - 1);
  memcpy(longer + kPathMax - 1, "f", 2);
  CHECK(open(longer, O_CREAT | O_WRONLY, 0644) == -1 && errno == ENAMETOOLONG);
}

// A working directory that has no path of PATH_MAX bytes, and long relative names from there.
static void deepDirectory(void) {
  CHECK(chdir(directory) == 0);
  for (int i = 0; i < 40; ++i) {
    CHECK(mkdir(longestName(), 0755) == 0 || errno == EEXIST);
    CHECK(chdir(longestName()) == 0);
  }
  char relative[4096] = "";
  for (size_t bytes = 0; bytes < 3500;) {
    bytes += (size_t)sprintf(relative + bytes, "%s%s", bytes ? "/" : "", longestName());
    CHECK(mkdir(relative, 0755) == 0 || errno == EEXIST);
  }
  strcat(relative, "/deep");
  int fd = open(relative, O_CREAT | O_WRONLY | O_APPEND, 0644);
  CHECK(fd >= 0);
  put(fd, 1000);
  CHECK(close(fd) == 0);
  int folder = open(longestName(), O_RDONLY | O_DIRECTORY);
  fd = openat(folder, "below", O_CREAT | O_WRONLY | O_APPEND, 0644);
  CHECK(fd >= 0);
  put(fd, 500);
  CHECK(rename(relative, "renamed") == 0 && rename("renamed", relative) == 0);
}

// More long paths at once than a chunk of the log holds.
static void manyLongPaths(void) {
  PATH(folder, directory, longestName());
  CHECK(mkdir(folder, 0755) == 0 || errno == EEXIST);
  static int files[200];
  for (int i = 0; i < 200; ++i) {
    char name[600];
    snprintf(name, sizeof name, "%s/%0250d", longestName(), i);
    files[i] = newFile(name);
  }
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 200; ++i) put(files[i], 1);
  }
}

static void removedDirectory(void) {
  PATH(folder, directory, "gone");
  CHECK(mkdir(folder, 0755) == 0 && chdir(folder) == 0);
  int fd = newFile("data");
  CHECK(rmdir(folder) == 0);
  CHECK(open("file", O_CREAT | O_WRONLY, 0644) == -1 && errno == ENOENT);
  put(fd, 1000);
  int up = open("../elsewhere", O_CREAT | O_WRONLY | O_APPEND, 0644);
  if (up >= 0) put(up, 10);
}

const struct Case path_cases[] = {{"odd_bytes", oddBytes},
                                  {"longest_path", longestPath},
                                  {"deep_directory", deepDirectory},
                                  {"many_long_paths", manyLongPaths},
                                  {"removed_directory", removedDirectory},
                                  {NULL, NULL}};
