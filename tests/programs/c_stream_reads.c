// Reads of streams whose results do not say what happened: errors and the end of the file, whatever
// errno was before, and lines with NUL bytes. Prints how many bytes each line has in truth.
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

#include "check.h"

enum { kRoom = 100 };

static void put(const char* name, const char* bytes, size_t count) {
  FILE* const file = fopen(name, "w");
  CHECK(file != NULL && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

// Each call twice: errno is what the first has left.
static void readErrors(void) {
  FILE* const file = fopen("errors", "w");
  char line[kRoom], *grown = NULL;
  size_t room = 0;
  int number = 0;
  CHECK(file != NULL);
  errno = 0;
  for (int i = 0; i < 2; ++i) CHECK(fgetc(file) == EOF && errno == EBADF);
  for (int i = 0; i < 2; ++i) CHECK(fgets(line, kRoom, file) == NULL);
  for (int i = 0; i < 2; ++i) CHECK(getline(&grown, &room, file) == -1);
  for (int i = 0; i < 2; ++i) CHECK(fscanf(file, "%d", &number) == EOF);
  CHECK(fclose(file) == 0);
  free(grown);
  put("not_for_writing", "x", 1);
  FILE* const other = fopen("not_for_writing", "r");
  CHECK(other != NULL);
  for (int i = 0; i < 2; ++i) CHECK(fputc('x', other) == EOF && errno == EBADF);
  CHECK(fclose(other) == 0);
}

static void readEnds(void) {
  char line[kRoom], *grown = NULL;
  size_t room = 0;
  int number = 0;
  put("ends", "x", 1);
  FILE* const file = fopen("ends", "r");
  CHECK(file != NULL && fgetc(file) == 'x');
  static const int kBefore[] = {0, EBADF, ENOENT};
  for (int i = 0; i < 3; ++i) {
    errno = kBefore[i];
    CHECK(fgetc(file) == EOF && fgets(line, kRoom, file) == NULL);
    CHECK(getline(&grown, &room, file) == -1 && fscanf(file, "%d", &number) == EOF);
  }
  CHECK(fclose(file) == 0);
  free(grown);
}

static void readLines(const char* name, char* line, int room) {
  FILE* const file = fopen(name, "r");
  CHECK(file != NULL);
  long before = 0;
  while (fgets(line, room, file) != NULL) {
    const long now = ftell(file);
    printf("%s %ld\n", name, now - before);
    before = now;
  }
  CHECK(fclose(file) == 0);
}

int main(void) {
  readErrors();
  readEnds();
  char line[kRoom];
  char zeros[1000] = {0};
  static const char kLines[] = "first\n\0\n\0\0a\0\nb\0c\n\nlast\n";
  static const char kTail[] = "first\nno newline";
  static const char kHidden[] = "first\nx\0y";
  put("lines", kLines, sizeof kLines - 1);
  put("tail", kTail, sizeof kTail - 1);
  put("hidden", kHidden, sizeof kHidden - 1);
  put("zeros", zeros, sizeof zeros);
  readLines("lines", line, kRoom);
  readLines("tail", line, kRoom);
  readLines("hidden", line, kRoom);
  readLines("zeros", line, kRoom);
  // A buffer that is smaller than it is said to be, before memory that is not there.
  enum { kPage = 4096, kLine = 12 };
  char* const memory =
      mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED && munmap(memory + kPage, kPage) == 0);
  put("short",
      "0123\000"
      "67890\n",
      kLine - 1);
  readLines("short", memory + kPage - kLine, 1 << 30);
  return 0;
}
