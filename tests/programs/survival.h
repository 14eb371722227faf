// Each function is a case: a program does to itself what a tracer has to outlive. Every file that a
// case leaves in its directory is made of writes of one byte, so a file's size is the number of
// calls that the trace has to have: the test gets no count but from the file system.
#pragma once

#include <fcntl.h>

#include "check.h"

extern char** environ;
extern const char* directory;  // of the files
extern const char* self;       // this program, absolute

struct Case {
  const char* name;
  void (*run)(void);
};

// A new file of the directory, to be written by put() alone.
int newFile(const char* name);
// Appends that many bytes, by as many calls.
void put(int fd, int calls);
// Waits for a child that has to end with that status.
void waitFor(int child, int status);
// The highest descriptor that is open, from 64 up: of a tracer, since no case has as many; or -1.
int highDescriptor(void);

extern const struct Case descriptor_cases[];
extern const struct Case limit_cases[];
extern const struct Case path_cases[];
extern const struct Case process_cases[];
extern const struct Case signal_cases[];
extern const struct Case thread_cases[];
