// Buffered streams by every call of the table, each counted by the program itself as it is made.
// Built plainly and fortified; without the compiler's built-ins, which would turn an fprintf into
// an fwrite and make the count wrong.
//
//   c_stdio DIRECTORY
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_counts.h"
#include "check.h"

static FILE* openCounted(const char* path, const char* mode) {
  FILE* stream = fopen(path, mode);
  CHECK(stream != NULL);
  countCall(path, "fopen", 0);
  return stream;
}

static void closeCounted(const char* path, FILE* stream) {
  CHECK(fclose(stream) == 0);
  countCall(path, "fclose", 0);
}

static void formatCounted(const char* path, FILE* stream, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int bytes = vfprintf(stream, format, arguments);
  va_end(arguments);
  CHECK(bytes > 0);
  countCall(path, "vfprintf", bytes);
}

static void writeText(const char* path) {
  FILE* stream = openCounted(path, "w");
  static char buffer[100];
  CHECK(setvbuf(stream, buffer, _IOFBF, sizeof buffer) == 0);
  countCall(path, "setvbuf", 0);
  for (int i = 0; i < 40; ++i) {
    int bytes = fprintf(stream, "line %d;", i);
    CHECK(bytes > 0);
    countCall(path, "fprintf", bytes);
    formatCounted(path, stream, "%s %g;", "and", i / 8.0);
    CHECK(fputs("text", stream) >= 0);
    countCall(path, "fputs", 4);
    CHECK(fputc('!', stream) == '!');
    countCall(path, "fputc", 1);
    CHECK(putc('\n', stream) == '\n');
    countCall(path, "putc", 1);
    CHECK(fwrite("block", 2, 2, stream) == 2);
    countCall(path, "fwrite", 4);
  }
  CHECK(fflush(stream) == 0);
  countCall(path, "fflush", 0);
  CHECK(ftell(stream) > 1000);
  countCall(path, "ftell", 0);
  CHECK(fputs("\n", stream) >= 0);
  countCall(path, "fputs", 1);
  closeCounted(path, stream);
}

// Once through the file with each of the reading calls, to its end.
static void readText(const char* path) {
  char line[64];
  char block[256];
  volatile int line_room = sizeof line;  // unknown to the compiler: __fgets_chk if fortified
  FILE* stream = openCounted(path, "r");
  while (fgets(line, line_room, stream) != NULL) countCall(path, "fgets", (int)strlen(line));
  countCall(path, "fgets", 0);
  closeCounted(path, stream);

  stream = openCounted(path, "r");
  char* grown = NULL;
  size_t room = 0;
  ssize_t length;
  while ((length = getline(&grown, &room, stream)) > 0) countCall(path, "getline", length);
  countCall(path, "getline", 0);
  closeCounted(path, stream);

  stream = openCounted(path, "r");
  while ((length = getdelim(&grown, &room, ';', stream)) > 0) countCall(path, "getdelim", length);
  countCall(path, "getdelim", 0);
  free(grown);
  closeCounted(path, stream);

  stream = openCounted(path, "r");
  for (int turn = 0;; ++turn) {
    int character = turn % 2 == 0 ? fgetc(stream) : getc(stream);
    countCall(path, turn % 2 == 0 ? "fgetc" : "getc", character == EOF ? 0 : 1);
    if (character == EOF) break;
  }
  closeCounted(path, stream);

  stream = openCounted(path, "r");
  volatile size_t items = sizeof block / 3;  // __fread_chk
  size_t got;
  while ((got = fread(block, 3, items, stream)) > 0) countCall(path, "fread", (long long)got * 3);
  countCall(path, "fread", 0);
  closeCounted(path, stream);
}

static void seekAndScan(const char* path) {
  FILE* stream = openCounted(path, "w+");
  int bytes = fprintf(stream, "17 four %d\n", 4);
  countCall(path, "fprintf", bytes);
  rewind(stream);
  countCall(path, "rewind", 0);
  int first = 0, third = 0;
  char word[16];
  CHECK(fscanf(stream, "%d %15s %d", &first, word, &third) == 3 && first == 17 && third == 4);
  countCall(path, "fscanf", 0);  // how many bytes a scan takes, its result does not say
  CHECK(fseek(stream, 3, SEEK_SET) == 0);
  countCall(path, "fseek", 0);
  CHECK(fgetc(stream) == 'f' && ungetc('f', stream) == 'f' && getc(stream) == 'f');
  countCall(path, "fgetc", 1);
  countCall(path, "ungetc", 0);
  countCall(path, "getc", 1);
  CHECK(fseeko(stream, 0, SEEK_END) == 0 && ftello(stream) == bytes);
  countCall(path, "fseeko", 0);
  countCall(path, "ftello", 0);
  CHECK(fputs("more\n", stream) >= 0);
  countCall(path, "fputs", 5);
  closeCounted(path, stream);
}

static void openInOtherWays(const char* missing, const char* path, const char* reopened) {
  CHECK(fopen(missing, "r") == NULL && errno == ENOENT);
  countCall(missing, "fopen", 0);
  CHECK(fopen(path, "wx") == NULL && errno == EEXIST);
  countCall(path, "fopen", 0);
  FILE* stream = openCounted(path, "a");
  CHECK(fputs("appended\n", stream) >= 0);
  countCall(path, "fputs", 9);
  CHECK(freopen(reopened, "w", stream) == stream);
  countCall(reopened, "freopen", 0);
  CHECK(fputs("reopened\n", stream) >= 0);
  countCall(reopened, "fputs", 9);
  closeCounted(reopened, stream);
}

static void descriptorAsStream(const char* path) {
  int fd = open(path, O_CREAT | O_WRONLY, 0644);
  CHECK(fd >= 0 && write(fd, "below;", 6) == 6);
  FILE* stream = fdopen(fd, "w");
  CHECK(stream != NULL && fileno(stream) == fd);
  countCall(path, "fdopen", 0);
  CHECK(fwrite("above\n", 1, 6, stream) == 6);
  countCall(path, "fwrite", 6);
  CHECK(fflush(stream) == 0 && fsync(fd) == 0);
  countCall(path, "fflush", 0);
  closeCounted(path, stream);
}

static void temporaryStream(void) {
  FILE* stream = tmpfile();
  CHECK(stream != NULL && fputs("nameless", stream) >= 0 && fclose(stream) == 0);
}

int main(int argc, char** argv) {
  if (argc != 2) return fprintf(stderr, "usage: c_stdio DIRECTORY\n"), 2;
  PATH(text, argv[1], "text.txt");
  PATH(missing, argv[1], "missing.txt");
  PATH(scanned, argv[1], "scanned.txt");
  PATH(reopened, argv[1], "reopened.txt");
  PATH(mixed, argv[1], "mixed.txt");
  PATH(left_open, argv[1], "left_open.txt");
  writeText(text);
  readText(text);
  seekAndScan(scanned);
  openInOtherWays(missing, text, reopened);
  descriptorAsStream(mixed);
  temporaryStream();
  FILE* stream = openCounted(left_open, "w");  // the library flushes it at exit
  CHECK(fputs("flushed at exit\n", stream) >= 0);
  countCall(left_open, "fputs", 16);
  printCallCounts();
  return 0;
}
