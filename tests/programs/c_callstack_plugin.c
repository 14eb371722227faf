// A plugin of c_callstack; there are two, of one source, which are loaded at one address in turn.
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void PLUGIN_NAME(int to, off_t place, const char* record) {
  if (pwrite(to, record, 64, place) != 64) exit(3);
  __asm__ volatile("" : : : "memory");
}

#define WRITE_HERE                                  \
  if (pwrite(to, record, 64, place) != 64) exit(3); \
  place += 64;                                      \
  __asm__ volatile("" : : : "memory");
#define FOUR(what) what what what what

// From 64 places.
void plugin_write_all(int to, off_t place, const char* record) { FOUR(FOUR(FOUR(WRITE_HERE))) }

void plugin_write(int to, off_t place, const char* record) {
  PLUGIN_NAME(to, place, record);
  __asm__ volatile("" : : : "memory");
}
