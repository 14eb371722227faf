// Streams that move without a recorded call, or by an unrecorded number of bytes: getc_unlocked and
// putc_unlocked, which the compiler puts into the program (-O2), and fscanf; each is followed by a
// call that depends on the position. In the directory that is given.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static FILE* opened(const char* name, const char* mode) {
  FILE* file = fopen(name, mode);
  if (file == NULL) exit(1);
  return file;
}

static void read_inline(void) {
  FILE* file = opened("lines", "w+");
  for (int i = 0; i < 100; ++i) fputs("line\n", file);
  rewind(file);
  long bytes = 0;
  long sum = 0;
  while (getc_unlocked(file) != EOF) {
    if (bytes++ % 100 == 0) sum += ftell(file);
  }
  if (bytes != 500 || sum != 1 + 101 + 201 + 301 + 401) exit(2);
  fclose(file);
}

static void write_inline(void) {
  FILE* file = opened("written", "w");
  long sum = 0;
  for (int i = 0; i < 9000; ++i) {
    putc_unlocked('a' + i % 26, file);
    if (i % 3000 == 0) sum += ftell(file);
  }
  if (sum != 1 + 3001 + 6001) exit(3);
  if (ftello(file) != 9000) exit(4);
  fclose(file);
}

static void scan(void) {
  FILE* file = opened("numbers", "w");
  for (int i = 0; i < 8; ++i) fprintf(file, "%d line\n", i);
  fclose(file);
  char rest[64];
  int number = 0;
  file = opened("numbers", "r");
  for (int i = 0; i < 8; ++i) {
    if (fscanf(file, "%d", &number) != 1 || number != i) exit(5);
    if (fgets(rest, sizeof rest, file) == NULL) exit(6);
  }
  fclose(file);
}

int main(int argc, char** argv) {
  if (argc != 2 || chdir(argv[1]) != 0) return 1;
  read_inline();
  write_inline();
  scan();
  return 0;
}
