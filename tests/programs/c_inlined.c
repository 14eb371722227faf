// What the compiler makes of getc_unlocked and putc_unlocked: code that works on the buffers of the
// streams. Copies "in" to "out", and says where both are now and then; reads its beginning anew
// between other calls; leaves a stream open at its end.
#include <stdio.h>

#include "check.h"

enum { kBytes = 100000, kStep = 9973 };

int main(void) {
  FILE* in = fopen("in", "w");
  CHECK(in != NULL);
  for (int i = 0; i < kBytes; ++i) CHECK(putc_unlocked('a' + i % 26, in) != EOF);
  CHECK(fclose(in) == 0);
  in = fopen("in", "r");
  FILE* const out = fopen("out", "w");
  CHECK(in != NULL && out != NULL);
  int c;
  long count = 0;
  while ((c = getc_unlocked(in)) != EOF) {
    CHECK(putc_unlocked(c, out) == c);
    if (++count % kStep == 0) CHECK(ftell(in) == count && ftell(out) == count);
  }
  CHECK(count == kBytes && fclose(out) == 0);
  rewind(in);
  char text[200];
  for (int i = 0; i < 50; ++i) CHECK(getc_unlocked(in) == 'a' + i % 26);
  CHECK(fread(text, 1, 150, in) == 150 && ftell(in) == 200);
  for (int i = 0; i < 30; ++i) CHECK(getc_unlocked(in) == 'a' + (200 + i) % 26);
  CHECK(ungetc('x', in) == 'x' && getc_unlocked(in) == 'x');
  CHECK(fclose(in) == 0);
  FILE* const left = fopen("left", "w");
  CHECK(left != NULL);
  for (int i = 0; i < 100; ++i) CHECK(putc_unlocked('l', left) != EOF);
  return 0;
}
