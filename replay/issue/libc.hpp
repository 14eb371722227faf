// The C library's own functions, past any preloaded tracer: for what the replayer does with streams
// and directories on its own account. Also the symbols that a replay reissues, which do pass the
// tracer.
#pragma once

#include <dirent.h>
#include <stdio.h>

namespace omnio::replay {

struct OwnLibc {
  FILE* (*fdopen)(int, const char*) = nullptr;
  FILE* (*fopen)(const char*, const char*) = nullptr;
  int (*fclose)(FILE*) = nullptr;
  int (*fflush)(FILE*) = nullptr;
  int (*fgetpos64)(FILE*, fpos64_t*) = nullptr;
  DIR* (*fdopendir)(int) = nullptr;
};

// Looked up once; a function that is not found stays null.
const OwnLibc& ownLibc();

// What a call by that name reaches in this process; nullptr when there is no such symbol.
void* symbolNamed(const char* name);

}  // namespace omnio::replay
