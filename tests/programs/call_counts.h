// A program's own count of its stream calls, by path and call. What a buffered stream does cannot
// be counted from outside: the system sees the library's blocks, not the program's calls.
// Printed at the end as JSON lines: {"path":"...","call":"fwrite","calls":2,"bytes":20}
#pragma once

#include <stdio.h>

#include "check.h"

struct CallCount {
  const char* path;
  const char* call;
  long long calls;
  long long bytes;
};

static struct CallCount call_counts[256];
static int call_count_rows = 0;

// The texts are kept by address: they have to outlive the count.
static void countCall(const char* path, const char* call, long long bytes) {
  int row = 0;
  while (row < call_count_rows &&
         (strcmp(call_counts[row].path, path) != 0 || strcmp(call_counts[row].call, call) != 0)) {
    ++row;
  }
  CHECK(row < (int)(sizeof call_counts / sizeof call_counts[0]));
  if (row == call_count_rows) {
    call_counts[call_count_rows++] = (struct CallCount){path, call, 0, 0};
  }
  call_counts[row].calls += 1;
  call_counts[row].bytes += bytes;
}

static void printCallCounts(void) {
  for (int row = 0; row < call_count_rows; ++row) {
    printf("{\"path\":\"%s\",\"call\":\"%s\",\"calls\":%lld,\"bytes\":%lld}\n",
           call_counts[row].path, call_counts[row].call, call_counts[row].calls,
           call_counts[row].bytes);
  }
}
