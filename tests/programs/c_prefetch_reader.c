// Reads a file in a pattern of offsets and computes after each request; for bench/prefetch.py.
//
//   c_prefetch_reader PATTERN FILE [--requests N] [--request BYTES] [--stride BYTES] [--columns N]
//                     [--seed N] [--compute-us N] [--busy LOOPS] [--ahead K] [--await N]
//
//   strided1     a request each --stride bytes
//   strided2     a 2-D array: --columns requests, --stride apart; two strides more to the next row
//   composition  one request of each record; numbers of records differ by 1, 8, 1, 14, 1, 8 ...
//                (Tang et al., Euro-Par 2014, have time steps 5, 6, 14, 15, 29, 30, 38 ...)
//   random       one in four of the first 4 * requests blocks, each once, in an order of --seed
//   contiguous   one request after the other
//
// With --await, requests from the Nth on (N > 0) are made when another process has fetched them, or
// after a second.
//
//   c_prefetch_reader make FILE --bytes N       a file of that size in which no two words are equal
//   c_prefetch_reader calibrate                 prints how many loops of --busy a microsecond has
#include <sys/mman.h>
#include <sys/syscall.h>

#include "timed_reads.h"

enum { kComposition = 4, kFirstRecord = 1 };
static long requests = 1000, request = 64 << 10, stride = 128 << 10, columns = 8, seed = 1;
static long file_bytes = 0;
static long awaited_from = 0;

static off_t stridedTwice(long index) {
  const long row_stride = (columns + 2) * stride;
  return index / columns * row_stride + (index % columns + kFirstRecord) * stride;
}

static off_t composed(long index) {
  static const long kDifferences[kComposition] = {1, 8, 1, 14};
  long record = kFirstRecord + index / kComposition * 24;
  for (long i = 0; i < index % kComposition; ++i) record += kDifferences[i];
  return record * stride;
}

static off_t offsetOf(const char* pattern, long index) {
  if (strcmp(pattern, "strided1") == 0) return (index + kFirstRecord) * stride;
  if (strcmp(pattern, "strided2") == 0) return stridedTwice(index);
  if (strcmp(pattern, "composition") == 0) return composed(index);
  CHECK(strcmp(pattern, "contiguous") == 0);
  return index * request;
}

// The caller frees them.
static off_t* offsetsOf(const char* pattern) {
  if (strcmp(pattern, "random") == 0) return shuffledBlocks(4 * requests, request, seed);
  off_t* const offsets = malloc((size_t)requests * sizeof *offsets);
  CHECK(offsets != NULL);
  for (long i = 0; i < requests; ++i) offsets[i] = offsetOf(pattern, i);
  return offsets;
}

// By system calls past the tracer: they are no I/O of this program.
static void await(int fd, off_t offset) {
  enum { kPage = 4096, kMostPages = 256, kMostRests = 1000 };
  const long pages = (request + kPage - 1) / kPage;
  unsigned char is_there[kMostPages];
  CHECK(pages <= kMostPages && offset % kPage == 0);
  const long begin = syscall(SYS_mmap, NULL, request, PROT_READ, MAP_SHARED, fd, offset);
  CHECK(begin != -1);
  long there = 0;
  for (int rests = 0; there < pages && rests < kMostRests; ++rests) {
    CHECK(syscall(SYS_mincore, begin, request, is_there) == 0);
    for (there = 0; there < pages && (is_there[there] & 1) != 0; ++there) {
    }
    const struct timespec rest = {0, 1000000};
    if (there < pages) nanosleep(&rest, NULL);
  }
  CHECK(syscall(SYS_munmap, begin, request) == 0);
}

static void readAll(const char* name, const off_t* offsets) {
  char* const data = malloc((size_t)request);
  const int fd = open(name, O_RDONLY);
  CHECK(data != NULL && fd >= 0);
  uint64_t checksum = 0;
  double read_s = 0;
  long advised = 1;  // the first request is not worth it
  const double begin = secondsNow();
  for (long i = 0; i < requests; ++i) {
    for (; ahead > 0 && advised < requests && advised <= i + ahead; ++advised) {
      advise(fd, offsets[advised], request);
    }
    if (awaited_from > 0 && i >= awaited_from) await(fd, offsets[i]);
    const double before = secondsNow();
    CHECK(pread(fd, data, (size_t)request, offsets[i]) == request);
    read_s += secondsNow() - before;
    checksum = extended(checksum, data, (size_t)request);
    compute();
  }
  report(requests, secondsNow() - begin, read_s, checksum);
  CHECK(close(fd) == 0);
  free(data);
}

static void makeFile(const char* name) {
  enum { kWords = 1 << 16 };
  static uint64_t words[kWords];
  FILE* const file = fopen(name, "w");
  CHECK(file != NULL);
  for (long at = 0; at < file_bytes; at += (long)sizeof words) {
    for (int i = 0; i < kWords; ++i) words[i] = mixed((uint64_t)at + (uint64_t)i);
    const size_t left = (size_t)(file_bytes - at);
    const size_t bytes = left < sizeof words ? left : sizeof words;
    CHECK(fwrite(words, 1, bytes, file) == bytes);
  }
  CHECK(fclose(file) == 0);
}

// The shortest of several, since other programs can only make it longer.
static void calibrate(void) {
  enum { kLoops = 2000000, kTimes = 50 };
  double shortest = 1e9;
  for (int i = 0; i < kTimes; ++i) {
    const double begin = secondsNow();
    work(kLoops);
    const double took = secondsNow() - begin;
    if (took < shortest) shortest = took;
  }
  printf("{\"loops_per_us\": %.3f}\n", kLoops / (shortest * 1e6));
}

int main(int argc, char** argv) {
  static const struct NumberOption kOptions[] = {
      {"--requests", &requests}, {"--request", &request}, {"--stride", &stride},
      {"--columns", &columns},   {"--seed", &seed},       {"--bytes", &file_bytes},
      {"--await", &awaited_from}};
  CHECK(argc >= 2);
  if (strcmp(argv[1], "calibrate") == 0) {
    calibrate();
    return 0;
  }
  CHECK(argc >= 3);
  parseOptions(argv + 3, kOptions, sizeof kOptions / sizeof *kOptions);
  if (strcmp(argv[1], "make") == 0) {
    makeFile(argv[2]);
    return 0;
  }
  CHECK(requests > 0 && request > 0 && columns > 0);
  off_t* const offsets = offsetsOf(argv[1]);
  readAll(argv[2], offsets);
  free(offsets);
  return 0;
}
