// An MPI profiler of its own: preloaded before the tracer it counts what a program calls, in C and
// in the three ways of Fortran, and has nothing in common with the tracer, whose counts are
// compared with its own. It writes {"call": count} to $MPI_PROFILE/counts.RANK.PID when MPI and the
// process end.
//
// A call is counted once, under its name in C: what MPI calls inside of it is not. A test counts
// when it found something. All arguments of all calls are integers or pointers, so that one
// function passes them all on, as words: more of them than there are do no harm (x86-64, AArch64).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum Number {
#define CALL(NAME, FORTRAN, FOUND) k##NAME,
#include "mpi_profiler.def"
#undef CALL
  kCalls
};

static const char* const kNames[] = {
#define CALL(NAME, FORTRAN, FOUND) "MPI_" #NAME,
#include "mpi_profiler.def"
#undef CALL
};

static long counts[kCalls];
static __thread int inside;

static void writeCounts(void) {
  const char* directory = getenv("MPI_PROFILE");
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (rank == NULL) rank = getenv("PMI_RANK");  // MPICH's
  char path[4096];
  if (directory == NULL || rank == NULL) return;
  snprintf(path, sizeof path, "%s/counts.%s.%d", directory, rank, (int)getpid());
  FILE* file = fopen(path, "w");
  if (file == NULL) return;
  const char* before = "{";
  for (int i = 0; i < kCalls; ++i) {
    if (counts[i] == 0) continue;
    fprintf(file, "%s\"%s\": %ld", before, kNames[i], counts[i]);
    before = ", ";
  }
  fprintf(file, "}\n");
  fclose(file);
}

// A program that does not use MPI, or never ends it, as well.
__attribute__((destructor)) static void end(void) {
  for (int i = 0; i < kCalls; ++i) {
    if (counts[i] > 0) return writeCounts();
  }
}

typedef long Word;
typedef Word Function(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word,
                      Word, Word, Word, Word, Word);

static Word passOn(enum Number number, Function** next, const char* symbol, int found,
                   const Word* word) {
  if (*next == NULL) *next = (Function*)dlsym(RTLD_NEXT, symbol);
  if (*next == NULL) {
    // Loaded by a module of an interpreter, MPI is in no list that the next is looked for in.
    void* library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_NOLOAD);
    if (library != NULL) *next = (Function*)dlsym(library, symbol);
  }
  if (*next == NULL) {
    fprintf(stderr, "mpi_profiler: no library has %s\n", symbol);
    abort();
  }
  if (number == kAbort && inside == 0) {
    ++counts[number];
    writeCounts();
  }
  ++inside;
  const Word result = (*next)(word[0], word[1], word[2], word[3], word[4], word[5], word[6],
                              word[7], word[8], word[9], word[10], word[11], word[12], word[13],
                              word[14], word[15], word[16], word[17]);
  --inside;
  if (inside > 0 || (found > 0 && *(const int*)word[found - 1] == 0)) return result;
  __atomic_add_fetch(&counts[number], 1, __ATOMIC_RELAXED);
  if (number == kFinalize) writeCounts();
  return result;
}

#define DEFINE(NUMBER, SYMBOL, FOUND)                                                         \
  Word SYMBOL(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, \
              Word k, Word l, Word m, Word n, Word o, Word p, Word q, Word r) {               \
    static Function* next;                                                                    \
    const Word words[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r};              \
    return passOn(NUMBER, &next, #SYMBOL, FOUND, words);                                      \
  }
#define CALL(NAME, FORTRAN, FOUND)         \
  DEFINE(k##NAME, MPI_##NAME, FOUND)       \
  DEFINE(k##NAME, PMPI_##NAME, FOUND)      \
  DEFINE(k##NAME, mpi_##FORTRAN##_, FOUND) \
  DEFINE(k##NAME, mpi_##FORTRAN##_f08_, FOUND)
#include "mpi_profiler.def"
#undef CALL
// `use mpi` calls this one when it is given a C pointer.
DEFINE(kWin_allocate, mpi_win_allocate_cptr_, 0)
DEFINE(kWin_allocate_shared, mpi_win_allocate_shared_cptr_, 0)
