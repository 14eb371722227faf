// The variables of the programs c_stacks_*.c and cxx_stacks_hdf5.cpp: each program writes them in
// several turns and reads them back, and each variable has a call of its own in the code, so that
// the call stacks of the transfers tell the variables apart.
//
// FIELDS(DO), PARTICLES(DO) and DIAGNOSTICS(DO) are DO(number) for ten variables each.
#pragma once

#include "check.h"

enum { kVariables = 30, kTurns = 4, kMaxElements = 512 };

// clang-format off: a line each
#define FIELDS(DO) \
  DO(0)            \
  DO(1)            \
  DO(2)            \
  DO(3)            \
  DO(4)            \
  DO(5)            \
  DO(6)            \
  DO(7)            \
  DO(8)            \
  DO(9)
#define PARTICLES(DO) \
  DO(10)              \
  DO(11)              \
  DO(12)              \
  DO(13)              \
  DO(14)              \
  DO(15)              \
  DO(16)              \
  DO(17)              \
  DO(18)              \
  DO(19)
#define DIAGNOSTICS(DO) \
  DO(20)                \
  DO(21)                \
  DO(22)                \
  DO(23)                \
  DO(24)                \
  DO(25)                \
  DO(26)                \
  DO(27)                \
  DO(28)                \
  DO(29)
// clang-format on

static double values[kMaxElements];

// How many turns there are, which the compiler shall not know: it would make several calls of the
// one in a loop.
static inline int turnsOfRun(void) {
  int turns = kTurns;
  __asm__ volatile("" : "+r"(turns));
  return turns;
}

// How many elements a variable has, of each rank and in each turn.
static inline int elementsOf(int variable) { return 100 + 10 * variable; }

static inline double valueOf(int variable, int turn, int rank, int i) {
  return variable + 0.001 * i + 100.0 * turn + 1000.0 * rank;
}

// What a rank writes; it stays until the next variable is filled.
static inline double* filled(int variable, int turn, int rank) {
  for (int i = 0; i < elementsOf(variable); ++i) values[i] = valueOf(variable, turn, rank, i);
  return values;
}

// Room for what is read; checkRead() says whether that is what was written.
static inline double* emptied(int variable) {
  for (int i = 0; i < elementsOf(variable); ++i) values[i] = -1;
  return values;
}

static inline void checkRead(int variable, int turn, int rank) {
  for (int i = 0; i < elementsOf(variable); ++i) {
    CHECK(values[i] == valueOf(variable, turn, rank, i));
  }
}

// Functions that stay functions, each with a frame, so that a stack has them.
#define OWN_FRAME __attribute__((noinline, noclone))
// Keeps the compiler from making a jump of the call before it, whose frame would be missing.
#define KEEP_FRAME __asm__ volatile("" : : : "memory")
