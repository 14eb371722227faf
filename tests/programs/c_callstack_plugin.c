// A plugin of c_callstack; there are two, of one source, which are loaded at one address in turn.
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void PLUGIN_NAME(int to, off_t place, const char* record) {
  if (pwrite(to, record, 64, place) != 64) exit(3);
  __asm__ volatile("" : : : "memory");
}

void plugin_write(int to, off_t place, const char* record) {
  PLUGIN_NAME(to, place, record);
  __asm__ volatile("" : : : "memory");
}
