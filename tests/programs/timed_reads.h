// What the readers of bench/prefetch.py share: options, computing between reads by a timed sleep or
// by real work, advice to the kernel by a reader that knows its own order, and the result, which is
// one line of JSON on standard output. One reader per process; no threads.
#pragma once

#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>

#include "check.h"

// An option with a number, as in `--requests 1000`.
struct NumberOption {
  const char* name;
  long* value;
};

static long compute_us = 0;  // slept after each request
static long busy_loops =
    0;                  // computed after each request; bench/prefetch.py knows how long one takes
static long ahead = 0;  // requests that the reader tells the kernel of before it reads them

static void parseOptions(char** words, const struct NumberOption* own, int own_count) {
  const struct NumberOption shared[] = {
      {"--compute-us", &compute_us}, {"--busy", &busy_loops}, {"--ahead", &ahead}};
  for (; *words != NULL; words += 2) {
    long* value = NULL;
    for (int i = 0; i < 3; ++i) {
      if (strcmp(words[0], shared[i].name) == 0) value = shared[i].value;
    }
    for (int i = 0; i < own_count; ++i) {
      if (strcmp(words[0], own[i].name) == 0) value = own[i].value;
    }
    if (value == NULL || words[1] == NULL) {
      fprintf(stderr, "'%s' is not an option with a number\n", words[0]);
      exit(2);
    }
    *value = atol(words[1]);
    CHECK(*value >= 0);
  }
  prctl(PR_SET_TIMERSLACK, 1UL);  // else each sleep is up to 50 us longer
}

static double secondsNow(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// The output function of SplitMix64 (Steele, Lea, Flood 2014).
static uint64_t mixed(uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

// The offsets of `count` blocks, in an order drawn with `seed` (Fisher and Yates). The caller frees
// it.
static inline off_t* shuffledBlocks(long count, long block_bytes, long seed) {
  off_t* const offsets = malloc((size_t)count * sizeof *offsets);
  CHECK(offsets != NULL);
  for (long i = 0; i < count; ++i) offsets[i] = i * block_bytes;
  for (long i = count - 1; i > 0; --i) {
    const uint64_t draw = mixed(mixed((uint64_t)seed) + (uint64_t)i) % (uint64_t)(i + 1);
    const off_t kept = offsets[i];
    offsets[i] = offsets[draw];
    offsets[draw] = kept;
  }
  return offsets;
}

static volatile uint64_t work_result;

static void work(long loops) {
  uint64_t state = work_result | 1;
  for (long i = 0; i < loops; ++i) {  // each step needs the one before
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
  }
  work_result = state;
}

static void compute(void) {
  if (busy_loops > 0) work(busy_loops);
  if (compute_us == 0) return;
  struct timespec rest = {compute_us / 1000000, compute_us % 1000000 * 1000};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) != 0) {
  }
}

// A checksum of all data in the order in which it was read. Words of a request are added, so that
// it costs a small part of the request.
static uint64_t extended(uint64_t checksum, const void* data, size_t bytes) {
  const uint64_t* const words = data;
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes / sizeof *words; ++i) sum += words[i];
  return mixed(checksum ^ sum);
}

static void advise(int fd, off_t offset, long bytes) {
  const int error = posix_fadvise(fd, offset, bytes, POSIX_FADV_WILLNEED);
  CHECK((errno = error) == 0);
}

// `read_s` is the time inside the calls that read, of one process.
static void report(long requests, double wall_s, double read_s, uint64_t checksum) {
  printf("{\"requests\": %ld, \"wall_s\": %.6f, \"read_s\": %.6f, \"checksum\": \"%016" PRIx64
         "\"}\n",
         requests, wall_s, read_s, checksum);
}
