// Every C program here shares this: it stops with one sentence when a call did not do what it has
// to do, so that a tracer which changes a result is found by the program itself.
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      fprintf(stderr, "%s:%d: not so: %s (errno: %s)\n", __FILE__, __LINE__, #condition, \
              strerror(errno));                                                          \
      exit(70);                                                                          \
    }                                                                                    \
  } while (0)

// "<directory>/<name>" in memory of the caller's, since several names are in use at a time.
#define PATH(variable, directory, name) \
  char variable[4096];                  \
  CHECK(snprintf(variable, sizeof variable, "%s/%s", directory, name) < (int)sizeof variable)
